-- A signed-in person sees their own runs, and of definitions what is needed to show them; nobody else sees anything. The
-- owner of these tables and service_role (which bypasses row-level security) are not limited.
alter table pgflow.settings enable row level security;
alter table pgflow.flows enable row level security;
alter table pgflow.steps enable row level security;
alter table pgflow.deps enable row level security;
alter table pgflow.option_changes enable row level security;
alter table pgflow.runs enable row level security;
alter table pgflow.step_states enable row level security;
alter table pgflow.step_tasks enable row level security;
alter table pgflow.task_attempts enable row level security;
alter table pgflow.parked_tasks enable row level security;
alter table pgflow.waits enable row level security;
alter table pgflow.watched_runs enable row level security;
alter table pgflow.dead_letters enable row level security;
alter table pgflow.forgiven_reads enable row level security;
alter table pgflow.workers enable row level security;
alter table pgflow.worker_functions enable row level security;
alter table pgflow.awaited_pings enable row level security;
alter table pgflow.fence_holds enable row level security;
alter table pgflow.worker_function_queues enable row level security;

create policy definitions_are_readable on pgflow.flows for select using (true);
create policy definitions_are_readable on pgflow.steps for select using (true);
create policy definitions_are_readable on pgflow.deps for select using (true);
create policy own_runs_are_readable on pgflow.runs for select using (owner is not null and owner = pgflow._caller_id());
create policy own_runs_are_readable on pgflow.step_states for select
  using (exists (select from pgflow.runs r where r.run_id = step_states.run_id));
create policy own_runs_are_readable on pgflow.step_tasks for select
  using (exists (select from pgflow.runs r where r.run_id = step_tasks.run_id));
create policy own_runs_are_readable on pgflow.task_attempts for select
  using (exists (select from pgflow.runs r where r.run_id = task_attempts.run_id));
