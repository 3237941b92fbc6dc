-- Whether an entry of release_tasks can be read. (pg_input_is_valid, which would ask without a subtransaction, came after Postgres 15.)
create function pgflow._names_attempt(p_entry jsonb)
returns boolean
language plpgsql stable
as $$
begin
  return (
    select e.run_id is not null and e.step_slug is not null and e.task_index is not null and e.attempt is not null
    from jsonb_to_record(p_entry) e(run_id uuid, step_slug text, task_index integer, attempt integer, started boolean));
exception when data_exception then
  return false;
end $$;
