-- One message for each webhook that has something to be told and was not told anything within p_group_ms. A problem that was opened and
-- resolved since is told once, as resolved. The caller holds the lock of look_for_problems.
create function starflow._write_alert_messages(p_webhooks text[], p_group_ms bigint)
returns void
language plpgsql
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_webhook text;
  v_problem_ids uuid[];
  v_message_id uuid;
begin
  foreach v_webhook in array p_webhooks loop
    continue when exists (
      select from starflow.alert_messages m where m.webhook = v_webhook and m.created_at > v_now - starflow._milliseconds(p_group_ms));
    v_problem_ids := array(
      select distinct n.problem_id from starflow.alert_notices n where n.webhook = v_webhook and n.message_id is null order by n.problem_id limit 100);
    continue when cardinality(v_problem_ids) = 0;
    insert into starflow.alert_messages as m (webhook, problems, created_at, next_attempt_at)
    select v_webhook,
           jsonb_agg(jsonb_build_object(
             'problemId', p.problem_id, 'rule', p.rule, 'subject', p.subject, 'facts', p.facts,
             'openedAt', p.opened_at, 'resolvedAt', case when n.is_resolved then p.resolved_at end) order by p.problem_id),
           v_now, v_now
    from (select u.problem_id, bool_or(u.change = 'resolved') as is_resolved from starflow.alert_notices u
          where u.webhook = v_webhook and u.message_id is null and u.problem_id = any (v_problem_ids) group by u.problem_id) n
    join starflow.alert_problems p on p.problem_id = n.problem_id
    returning m.message_id into v_message_id;
    update starflow.alert_notices n set message_id = v_message_id
    where n.webhook = v_webhook and n.message_id is null and n.problem_id = any (v_problem_ids);
  end loop;
end $$;
