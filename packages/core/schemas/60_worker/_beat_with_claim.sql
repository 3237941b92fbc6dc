-- A claim is a sign of life too, so that an idle worker needs no calls for its heartbeat: written at most every 3 s (which
-- _worker_state has looked at), and never waited for, since a claim must not (see 40_run/README.md). Also where the last one lies in the
-- future: the clock was set back since.
create function pgflow._beat_with_claim(p_worker_id uuid)
returns void
language plpgsql
as $$
begin
  update pgflow.workers w set last_heartbeat_at = pgflow.clock()
  from (
    select due.worker_id from pgflow.workers due
    where due.worker_id = p_worker_id and due.last_heartbeat_at not between pgflow.clock() - interval '3 seconds' and pgflow.clock() + interval '3 seconds'
    for no key update skip locked
  ) due
  where w.worker_id = due.worker_id;
end $$;
