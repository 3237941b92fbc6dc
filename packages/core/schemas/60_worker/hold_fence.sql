-- The fence of somebody who is at work: a rollout, a deploy. It is raised like any other, and remembers as any other, but until
-- held_until nobody else takes or lifts it. The database's clock decides. Who holds it prolongs it (keep_fence_hold) and has to
-- be done, with what it has started, before it is over: a hold that was not prolonged is another's to take.
create function pgflow.hold_fence(function_names text[], fenced_by text, held_by text, hold_id uuid, hold_for interval)
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_worker_functions(hold_fence.function_names);
  perform from pgflow.worker_functions f where f.function_name = any (hold_fence.function_names)
  order by f.function_name for no key update;
  perform pgflow._refuse_held_fence(hold_fence.function_names, format('"%s" overlaps with "%%s".', replace(hold_fence.held_by, '%', '%%')),
    'Wait until it is done, then run this again. One that was killed is over by itself within %s s.', hold_fence.hold_id);
  return query select f.* from pgflow.fence_worker_functions(hold_fence.function_names, hold_fence.fenced_by) f;
  insert into pgflow.fence_holds as h (function_name, hold_id, held_by, held_until)
  select distinct n.name, hold_fence.hold_id, hold_fence.held_by, pgflow.clock() + hold_fence.hold_for
  from unnest(hold_fence.function_names) as n(name)
  on conflict on constraint fence_holds_pkey do update set
    hold_id = excluded.hold_id, held_by = excluded.held_by, held_until = excluded.held_until;
end $$;
comment on function pgflow.hold_fence(text[], text, text, uuid, interval) is
  'Fences worker functions for a rollout or deploy that is at work, which nobody else takes or lifts for so long. Refuses, by name, another one that is. Returns the rows.';
