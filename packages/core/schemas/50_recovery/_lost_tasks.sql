-- Tasks of steps that these queues serve which need a new message: queued, or started and past their recovery boundary, and their message
-- is gone, hidden for ever, or in a queue that does not serve their step. Of these runs, or (null) of all open ones; at most so many. Each
-- open task is looked at once, from its run, whatever the statistics of tables that just filled or emptied say. Volatile: see
-- _unreachable_tasks.
create function pgflow._lost_tasks(p_queue_names text[], p_run_ids uuid[], p_max integer)
returns setof pgflow.step_tasks
language plpgsql volatile
as $$
declare
  v_flow_slugs text[] := case when p_run_ids is not null then array(select distinct r.flow_slug from pgflow.runs r where r.run_id = any (p_run_ids)) end;
  v_queue text;
  v_found integer := 0;
  v_more integer;
begin
  for v_queue in
    select q.name from unnest(p_queue_names) with ordinality q(name, place)
    where v_flow_slugs is null
       or exists (select from pgflow._routes s where s.queue_name = q.name and s.flow_slug = any (v_flow_slugs))
    order by q.place
  loop
    exit when v_found >= p_max;
    return query execute format(
      'select t.* from %s
       -- offset: not to be turned into a plan that begins elsewhere.
       cross join lateral (
         select t.* from pgflow.step_tasks t
         join pgflow.step_states x on x.run_id = t.run_id and x.step_slug = t.step_slug and x.status = ''started''
         join pgflow.steps s on s.flow_slug = t.flow_slug and s.step_slug = t.step_slug and s.queue_name = $2 and s.step_type <> ''wait''
         join pgflow.flows f on f.flow_slug = t.flow_slug
         where t.run_id = r.run_id
           and (t.queue_name <> $2 or (not exists (select from pgmq.%I q where q.msg_id = t.message_id and q.vt < ''infinity'')
             and not exists (select from pgflow.parked_tasks p where p.run_id = t.run_id and p.step_slug = t.step_slug and p.task_index = t.task_index)))
           and (t.status = ''queued'' or (t.status = ''started''
             and coalesce(t.started_at + make_interval(secs => coalesce(s.opt_timeout, f.opt_timeout) + 30::float8) < pgflow.clock(), true)))
         offset 0) t
       limit $3',
      case when p_run_ids is null then '(select x.run_id from pgflow.runs x where x.status = ''started''
                  and x.flow_slug in (select f.flow_slug from pgflow.steps f where f.queue_name = $2)) r'
           else '(select x.run_id from unnest($1) u(id) cross join lateral (select x.* from pgflow.runs x where x.run_id = u.id offset 0) x
                  where x.status not in (''completed'', ''failed'', ''cancelled'')
                    and x.flow_slug in (select f.flow_slug from pgflow.steps f where f.queue_name = $2)) r' end,
      pgmq.format_table_name(v_queue, 'q')) using p_run_ids, v_queue, p_max - v_found;
    get diagnostics v_more = row_count;
    v_found := v_found + v_more;
  end loop;
end $$;
