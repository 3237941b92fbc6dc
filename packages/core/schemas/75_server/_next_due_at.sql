-- When the next of a step's queued tasks may begin: after a start delay or the delay of a retry. Looks at the first hundred of them.
-- Null: none is queued.
create function starflow._next_due_at(p_run_id uuid, p_step_slug text)
returns timestamptz
language plpgsql stable
as $$
begin
  return (
    select min(coalesce(t.due_at, t.queued_at))
    from (select x.due_at, x.queued_at from pgflow.step_tasks x
          where x.run_id = p_run_id and x.step_slug = p_step_slug and x.status = 'queued'
          order by x.task_index limit 100) t);
end $$;
