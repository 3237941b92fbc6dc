-- The right to resume is the token alone, whoever brings it: definer, so that it needs nothing else. Locks the run, then goes
-- down the levels like a settlement.
create function pgflow.resume_wait(token text, payload jsonb default null)
returns pgflow.wait_answer
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_token record := pgflow._read_wait_token(token);
  v_payload jsonb := coalesce(payload, 'null');
  v_run pgflow.runs;
  v_feeds_map boolean;
begin
  if v_token.placement <> 'queue' then
    perform pgflow._raise('SF209', format('This token is for a wait of a run with placement "%s".', v_token.placement),
      'The tables of step queues know nothing of that run.', 'Resume it where it runs.');
  end if;
  -- A statement of its own: what follows sees what the former holder of the run has committed.
  select * into v_run from pgflow.runs r where r.run_id = v_token.run_id::uuid for no key update;
  select s.feeds_map into v_feeds_map from pgflow.steps s
  where s.flow_slug = v_run.flow_slug and s.step_slug = v_token.step_slug and s.step_type = 'wait';
  if v_feeds_map is null then
    perform pgflow._raise('SF209', format('There is no wait "%s" in run %s.', v_token.step_slug, v_token.run_id),
      'The token is genuine: its flow was deleted, or compiled anew without the wait.', 'Start a new run, and issue a token for it.');
  elsif v_feeds_map and jsonb_typeof(v_payload) <> 'array' and pgflow._feeds_map(v_run.flow_slug, v_run.run_id, v_token.step_slug) then
    perform pgflow._raise('SF203', format('The payload of wait "%s" must be an array.', v_token.step_slug),
      format('A map goes over it, and it is %s.', case jsonb_typeof(v_payload) when 'null' then 'null' else 'of type ' || jsonb_typeof(v_payload) end),
      'Resume it again with an array. Nothing was changed.');
  end if;
  return row(v_run.run_id, v_token.step_slug, pgflow._end_wait(v_run, v_token.step_slug, v_payload))::pgflow.wait_answer;
end $$;
comment on function pgflow.resume_wait(text, jsonb) is
  'Resumes the wait that the token names; the payload is its output. The outcome tells what happened: accepted, early (the wait is not open yet and takes it then), already_resumed, timed_out, skipped or run_ended. Only with the first two does this payload count.';
