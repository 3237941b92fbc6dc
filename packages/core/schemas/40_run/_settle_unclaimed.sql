-- What becomes of messages that were read but not claimed; no body is looked at and no attempt consumed.
--   unsupported    no task, or another flow's or step's: hidden for min(5 s × 2^(reads - 1), 5 min), told to the worker
--   ended          its task, step or run is terminal: archived
--   running        its task is started: hidden until the recovery boundary, which it does not move
--   stalled        its task is started and past that boundary: recovered by this same call, or, where it has no attempt
--                  left and so would end, told to the worker, which then calls requeue_stalled_tasks
--   suspect        its task was put back, and this claim takes no such: left in sight, told to the worker
--   busy           its task is queued, but somebody else has it locked: back in 5 s
create function pgflow._settle_unclaimed(
  p_queue_name text, p_flow_slug text, p_step_slug text, p_ids bigint[], p_read_counts integer[], p_claimed pgflow.work_item[],
  p_takes_suspects boolean)
returns setof pgflow.work_item
language plpgsql
as $$
declare
  v_rest pgflow.work_item[];
  v_hidden bigint[];
  v_offsets integer[];
  v_recovered bigint[];
begin
  -- input and the like are not needed here; reason holds the verdict, timeout_seconds how long to hide the message.
  select array_agg(row(v.verdict, t.flow_slug, t.run_id, t.step_slug, t.task_index, m.id, m.read_count, null, null,
    case v.verdict
      when 'unsupported' then least(5 * power(2, least(m.read_count - 1, 10)), 300)::integer
      when 'running' then least(ceil(extract(epoch from v.boundary - pgflow.clock())), 2147483647)::integer
      when 'suspect' then 0
      else 5 end, null)::pgflow.work_item)
  into v_rest
  from unnest(p_ids, p_read_counts) m(id, read_count)
  left join pgflow.step_tasks t on t.queue_name = p_queue_name and t.message_id = m.id
  left join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug
  left join pgflow.flows f on f.flow_slug = t.flow_slug
  cross join lateral (
    select t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) as boundary
  ) b
  cross join lateral (
    select b.boundary, case
      when t.run_id is null or t.flow_slug <> p_flow_slug or t.step_slug <> coalesce(p_step_slug, t.step_slug) then 'unsupported'
      when t.status = 'started' then case when b.boundary > pgflow.clock() then 'running' else 'stalled' end
      when t.status <> 'queued' then 'ended'
      when (select r.status from pgflow.runs r where r.run_id = t.run_id) <> 'started' then 'ended'
      when (select x.status from pgflow.step_states x where x.run_id = t.run_id and x.step_slug = t.step_slug) in ('completed', 'failed', 'skipped') then 'ended'
      when t.requeued_count > 0 and not p_takes_suspects and t.last_requeued_at >= pgflow.clock() - interval '10 minutes' then 'suspect'
      else 'busy' end as verdict
  ) v
  where m.id <> all (coalesce((select array_agg(c.msg_id) from unnest(p_claimed) c), '{}'));

  perform pgmq.archive(p_queue_name, array(select r.msg_id from unnest(v_rest) r where r.kind = 'ended'))
  where exists (select from unnest(v_rest) r where r.kind = 'ended');

  v_recovered := pgflow._requeue_stalled_messages(
    p_queue_name, array(select r.msg_id from unnest(v_rest) r where r.kind = 'stalled'));

  select array_agg(r.msg_id order by r.msg_id), array_agg(r.timeout_seconds order by r.msg_id) into v_hidden, v_offsets
  from unnest(v_rest) r where r.kind <> 'ended' and r.msg_id <> all (coalesce(v_recovered, '{}'));
  perform pgflow.set_vt_batch(p_queue_name, v_hidden, v_offsets);

  return query
    select r.* from unnest(v_rest) r
    where r.kind in ('unsupported', 'suspect') or (r.kind = 'stalled' and r.msg_id <> all (coalesce(v_recovered, '{}')));
end $$;
