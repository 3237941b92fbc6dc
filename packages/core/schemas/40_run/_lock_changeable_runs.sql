-- Locks those of the runs that the caller may change, and returns their ids in the order in which all callers lock runs.
create function pgflow._lock_changeable_runs(p_run_ids uuid[])
returns uuid[]
language plpgsql
as $$
begin
  return array(
    select r.run_id from pgflow.runs r where r.run_id = any (p_run_ids) and pgflow._may_change(r.owner)
    order by r.run_id for no key update);
end $$;
