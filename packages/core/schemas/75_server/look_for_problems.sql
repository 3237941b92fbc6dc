-- Called by each edge every few seconds; of several at the same moment one looks, and the others are done. Every change of a problem
-- is written with whom it is to be told to, so that no process that ends in between costs a message. A webhook is told at
-- once, and then what comes within group_ms together: at most 100 problems in a message, the rest in the next one.
create function starflow.look_for_problems(rules jsonb, webhooks jsonb, group_ms bigint, resolve_after_ms bigint)
returns setof starflow.problem_change
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_now timestamptz := pgflow.clock();
  v_changes starflow.problem_change[];
begin
  if not pg_try_advisory_xact_lock(hashtextextended('starflow.look_for_problems', 0)) then
    return;
  end if;

  insert into starflow.alert_problems as p (rule, subject, facts, seen_at, last_seen_at)
  select o.rule, o.subject, o.facts, v_now, v_now from starflow._observed_problems(look_for_problems.rules) o
  on conflict (rule, subject) where resolved_at is null do update set facts = excluded.facts, last_seen_at = excluded.last_seen_at;
  -- It has passed within its grace: nobody needs to know.
  delete from starflow.alert_problems p where p.opened_at is null and p.last_seen_at < v_now;

  with opened as (
    update starflow.alert_problems p set opened_at = v_now
    where p.opened_at is null
      and p.seen_at <= v_now - starflow._milliseconds(coalesce((look_for_problems.rules -> p.rule ->> 'graceMs')::bigint, 0))
    returning p.problem_id, p.rule, p.subject, 'opened', p.facts
  ), resolved as (
    update starflow.alert_problems p set resolved_at = v_now
    where p.resolved_at is null and p.opened_at < v_now and p.last_seen_at <= v_now - starflow._milliseconds(resolve_after_ms) and p.last_seen_at < v_now
    returning p.problem_id, p.rule, p.subject, 'resolved', p.facts
  )
  select array_agg(row(c.*)::starflow.problem_change) into v_changes
  from (select * from opened union all select * from resolved) c;

  insert into starflow.alert_notices (problem_id, change, webhook)
  select c.problem_id, c.change, w.key
  from unnest(v_changes) c join jsonb_each(look_for_problems.webhooks) w on w.value ? c.rule;
  perform starflow._write_alert_messages(array(select jsonb_object_keys(look_for_problems.webhooks)), group_ms);
  return query select c.* from unnest(v_changes) c;
end $$;
comment on function starflow.look_for_problems(jsonb, jsonb, bigint, bigint) is
  'Looks for what the rules of alerts call wrong, keeps what has changed and writes the messages about it. Returns the changes that this call has found.';
