create function starflow.list_refused_outbox(max_rows integer default 100)
returns table (id bigint, run_id uuid, kind text, reason text, created_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp set enable_seqscan = off
as $$
begin
  return query
    select o.id, o.run_id, o.kind, o.refused_because, o.created_at from starflow.mirror_outbox o
    where o.refused_because is not null order by o.id desc limit max_rows;
end $$;
comment on function starflow.list_refused_outbox(integer) is 'Rows of the outbox that the warm tier refused within the last week, the latest first, and why.';
