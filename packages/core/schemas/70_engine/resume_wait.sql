create function starflow.resume_wait(run_id uuid, node_id text, payload jsonb)
returns text
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_run starflow.workflow_runs;
  v_wait starflow.workflow_waits;
begin
  select * into v_run from starflow.workflow_runs r where r.id = resume_wait.run_id for no key update;
  if v_run.id is null then
    return 'not_found';
  end if;
  select * into v_wait from starflow.workflow_waits w where w.run_id = resume_wait.run_id and w.node_id = resume_wait.node_id;
  if v_wait.run_id is null and not starflow._has_wait(v_run.definition_id, resume_wait.node_id) then
    return 'no_wait';
  end if;
  if starflow._has_ended(v_run.status) then
    return 'run_ended';
  end if;
  if v_wait.run_id is null then
    insert into starflow.workflow_waits (run_id, node_id, status, payload_json, created_at)
    values (resume_wait.run_id, resume_wait.node_id, 'early', coalesce(payload, 'null'), pgflow.clock());
    return 'early';
  end if;
  if v_wait.status <> 'open' then
    return case v_wait.status when 'timed_out' then 'timed_out' else 'already_resumed' end;
  end if;
  if v_wait.due_at <= pgflow.clock() then
    update starflow.workflow_waits w set status = 'timed_out', ended_at = pgflow.clock()
    where w.run_id = resume_wait.run_id and w.node_id = resume_wait.node_id;
  else
    update starflow.workflow_waits w set status = 'resumed', payload_json = coalesce(payload, 'null'), ended_at = pgflow.clock()
    where w.run_id = resume_wait.run_id and w.node_id = resume_wait.node_id;
  end if;
  perform starflow._wait_is_over(v_run);
  return case when v_wait.due_at <= pgflow.clock() then 'timed_out' else 'accepted' end;
end $$;
comment on function starflow.resume_wait(uuid, text, jsonb) is
  'Stores the payload, once per wait, and queues the paused run. Returns accepted, early (kept until the wait opens), already_resumed, timed_out, run_ended, no_wait (its flow has no such wait; nothing is kept) or not_found.';
