-- Whether this claim was the last one of the run and was given up or taken away since: to give it up (again) has no effect.
create function starflow._is_spent(p_run starflow.workflow_runs, p_runner_id text, p_claim_attempts integer)
returns boolean
language sql immutable
return p_runner_id is not null and (p_run).leased_by is null and (p_run).claim_attempts = p_claim_attempts;
