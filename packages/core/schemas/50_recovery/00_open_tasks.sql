-- Tasks that a worker has to do before their run can end: those of ended steps do not count, in whatever state somebody left them.
create view pgflow._open_tasks as
  select t.* from pgflow.runs r
  join pgflow.step_tasks t on t.run_id = r.run_id
  join pgflow.step_states x on x.run_id = t.run_id and x.step_slug = t.step_slug
  where r.status = 'started' and x.status = 'started' and t.status in ('queued', 'started');
