create function starflow.database_id()
returns uuid
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  select i.database_id from starflow.database_identity i
$$;
comment on function starflow.database_id() is 'The id of this database, made with it.';
