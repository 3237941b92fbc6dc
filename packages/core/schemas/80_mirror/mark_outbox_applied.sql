create function starflow.mark_outbox_applied(ids bigint[])
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update starflow.mirror_outbox o set applied_at = pgflow.clock() where o.id = any (mark_outbox_applied.ids) and o.applied_at is null;
end $$;
comment on function starflow.mark_outbox_applied(bigint[]) is 'The warm tier has these rows of the outbox.';
