-- Puts back what the fence remembered and forgets it. What was deployed meanwhile is tried at once: failed starts of the
-- code before do not count. A function that is not fenced stays as it is. The fence of a rollout or deploy that is at work is not
-- lifted from outside, unless by force: it would let old and new code run beside each other.
create function pgflow.restore_worker_functions(function_names text[], force boolean default false)
returns setof pgflow.worker_functions
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
begin
  perform pgflow._check_worker_functions(restore_worker_functions.function_names);
  perform from pgflow.worker_functions f where f.function_name = any (restore_worker_functions.function_names)
  order by f.function_name for no key update;
  if restore_worker_functions.force is not true then
    perform pgflow._refuse_held_fence(restore_worker_functions.function_names, 'The fence cannot be lifted while "%s" is at work.',
      'Wait until it is done. If it was killed, it is over by itself within %s s. By force (npx starflow restore NAME --force, force => true)'
      || ' it is told to stop within 5 s, and what it deploys may come all the same.');
  end if;
  delete from pgflow.fence_holds h where h.function_name = any (restore_worker_functions.function_names);
  return query select f.* from pgflow._lift_fence(restore_worker_functions.function_names) f;
end $$;
comment on function pgflow.restore_worker_functions(text[], boolean) is
  'Lifts the fence: enabled is again what it was before. Refuses, by name, that of a rollout or deploy that is at work, unless by force. Returns the rows. Twice is fine.';
