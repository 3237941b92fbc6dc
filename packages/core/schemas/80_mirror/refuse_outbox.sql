-- What the warm tier refuses it would refuse again, and everything behind it would wait. So the row is put aside; the sweep of the
-- mirror brings its run up to date from the cold tier.
create function starflow.refuse_outbox(id bigint, reason text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  update starflow.mirror_outbox o set applied_at = pgflow.clock(), refused_because = left(refuse_outbox.reason, 1000)
  where o.id = refuse_outbox.id and o.applied_at is null;
end $$;
comment on function starflow.refuse_outbox(bigint, text) is 'Sets a row of the outbox aside, with the reason why the warm tier refuses it.';
