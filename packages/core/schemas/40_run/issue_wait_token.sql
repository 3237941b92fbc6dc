-- For the server alone: who may resume a wait is the application's decision, and the owner of a run is often just the person
-- who must not. It may be issued before the wait opens, as often as needed; every token that has not expired is good.
create function pgflow.issue_wait_token(run_id uuid, step_slug text, expires_in interval default null)
returns text
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_flow_slug text := (select r.flow_slug from pgflow.runs r where r.run_id = issue_wait_token.run_id);
  v_wait pgflow.steps;
  v_key record;
  v_expires_at timestamptz;
begin
  select * into v_wait from pgflow.steps s
  where s.flow_slug = v_flow_slug and s.step_slug = issue_wait_token.step_slug and s.step_type = 'wait';
  if v_wait.step_slug is null then
    perform pgflow._raise('SF209', format('There is no wait "%s" in run %s.', issue_wait_token.step_slug, issue_wait_token.run_id),
      case when v_flow_slug is null then 'There is no such run.' else format('It is a run of flow "%s".', v_flow_slug) end,
      coalesce('Its waits: ' || (select string_agg(s.step_slug, ', ' order by s.step_index) from pgflow.steps s
                                 where s.flow_slug = v_flow_slug and s.step_type = 'wait') || '.',
               'Name a run of a flow with a wait.'));
  end if;
  -- A week, and the time that the wait is open: a token does not end before the wait it is for.
  v_expires_at := pgflow.clock() + coalesce(expires_in, interval '7 days' + coalesce(make_interval(secs => v_wait.opt_timeout), '0'));
  if v_expires_at <= pgflow.clock() then
    perform pgflow._raise('SF001', format('A token cannot expire in %s.', expires_in), 'That is not in the future.',
      'Leave expires_in out, or give an interval above zero.');
  end if;
  select * into v_key from pgflow._wait_signing_key(v_flow_slug);
  return pgflow._sign_wait_token('queue', issue_wait_token.run_id::text, issue_wait_token.step_slug,
                                 extract(epoch from v_expires_at)::bigint, v_key.kid, v_key.secret);
end $$;
comment on function pgflow.issue_wait_token(uuid, text, interval) is
  'A signed token with which resume_wait ends this wait of this run. Good for 7 days and the timeout of the wait, unless expires_in says otherwise. Give it only to whoever may decide.';
