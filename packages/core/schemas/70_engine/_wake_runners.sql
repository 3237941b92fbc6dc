-- Tells listening runners that a run of this pool can be claimed; they hear it when the transaction commits. A hint: who does
-- not listen asks at its interval.
create function starflow._wake_runners(p_runner_pool text)
returns void
language plpgsql
as $$
begin
  perform pg_notify('starflow_queue', coalesce(p_runner_pool, ''));
end $$;
