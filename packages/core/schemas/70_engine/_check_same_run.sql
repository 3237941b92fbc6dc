-- An id, or an idempotency key, that is used again must mean the same run.
create function starflow._check_same_run(p_run starflow.workflow_runs, p_template_id text, p_workspace_id text, p_env text)
returns void
language plpgsql
as $$
begin
  if p_run.workspace_id is distinct from p_workspace_id then
    perform pgflow._raise('SF202', format('Run id %s cannot be used.', p_run.id), format('It was asked for flow "%s".', p_template_id),
      'Use a new run id.');
  end if;
  if p_run.template_id is distinct from p_template_id or p_run.env is distinct from p_env then
    perform pgflow._raise('SF202', format('Run %s already exists and belongs to flow "%s".', p_run.id, p_run.template_id),
      format('It is of env "%s"; asked for was a run of flow "%s" in env "%s".', p_run.env, p_template_id, p_env),
      'Use another id or idempotency key, or leave it out.');
  end if;
end $$;
