-- Hot tables. Two rules keep a step at about 2.8 KB of WAL: no index, and no index predicate, on a column that changes
-- while the row lives (every transition is then a HOT update; a fillfactor of 30 leaves room for three versions of each
-- row on its page, as many as a task may have before the first is pruned), and no foreign key to flows or steps (each
-- insert would share-lock one flows row: 51 K starts/s became 17.7 K).
-- Checks are written short, with lists as one constant: each statement reads the stored text of its table's checks anew,
-- which is a tenth of a call that settles one task. Where a column may be null, a comparison with it holds: null is not false.

create table pgflow.runs (
  run_id uuid not null default pgflow.new_run_id(),
  flow_slug text not null,
  status text not null default 'started',
  input jsonb not null,
  output jsonb,
  remaining_steps integer not null default 0,
  started_at timestamptz not null default now(),
  completed_at timestamptz,
  failed_at timestamptz,
  cancelled_at timestamptz,
  cancel_reason text,
  -- Who started it, as the request's JWT says: what a signed-in person may see. Null for the server's own runs, the nil UUID for those of
  -- other callers without an id.
  owner uuid,
  idempotency_key text,
  -- The span that started it. A null costs no byte: the bitmap of the row has the place anyway.
  traceparent text,
  -- The start that was asked for later: whatever starts again before it waits for it. Null: at once.
  start_at timestamptz,
  constraint runs_pkey primary key (run_id),
  constraint completed_at_is_after_started_at check (completed_at >= started_at),
  constraint cancelled_at_is_after_started_at check (cancelled_at >= started_at),
  constraint completed_at_or_failed_at check (completed_at is null or failed_at is null),
  constraint failed_at_is_after_started_at check (failed_at >= started_at),
  constraint runs_remaining_steps_check check (remaining_steps >= 0),
  constraint status_is_valid check (status = any ('{started,failed,completed,cancelled}'))
) with (fillfactor = 30);
-- Of what changes only status and failed_at are in an index: they change once, when the run ends. Recovery and "what is running" use this one.
create index runs_active_idx on pgflow.runs (started_at) where status = 'started';
-- Lists, by the time of the start: run ids may be anybody's and tell nothing of it. Every run adds to its right edge, twice.
create index runs_started_at_idx on pgflow.runs (started_at, run_id);
-- Those that did not succeed are few, and looked for among all the others; only they are added here, and once.
create index runs_unsuccessful_idx on pgflow.runs (started_at, run_id) where status = any ('{failed,cancelled}');
create index runs_failed_at_idx on pgflow.runs (failed_at) where failed_at is not null;
-- Keys are a name space per owner; the server, whose runs have none, is one of them.
create unique index runs_idempotency_key_key on pgflow.runs (flow_slug, idempotency_key, owner) nulls not distinct where idempotency_key is not null;
create index runs_owner_idx on pgflow.runs (owner) where owner is not null;
comment on table pgflow.runs is 'One execution of a flow.';

create table pgflow.step_states (
  flow_slug text not null,
  run_id uuid not null,
  step_slug text not null,
  status text not null default 'created',
  remaining_tasks integer,
  remaining_deps integer not null default 0,
  created_at timestamptz not null default now(),
  started_at timestamptz,
  completed_at timestamptz,
  failed_at timestamptz,
  error_message text,
  initial_tasks integer,
  output jsonb,
  skip_reason text,
  skipped_at timestamptz,
  constraint step_states_pkey primary key (run_id, step_slug),
  constraint step_states_run_id_fkey foreign key (run_id) references pgflow.runs (run_id),
  constraint completed_at_is_after_started_at check (completed_at >= started_at),
  constraint completed_at_or_failed_at_or_skipped_at check (num_nonnulls(completed_at, failed_at, skipped_at) <= 1),
  constraint failed_at_is_after_started_at check (failed_at >= started_at),
  constraint initial_tasks_known_when_started check (status <> 'started' or initial_tasks is not null),
  constraint output_only_for_completed_or_null check (output is null or status = 'completed'),
  constraint remaining_tasks_state_consistency check (remaining_tasks is null or status <> all ('{created,skipped}')),
  constraint skip_reason_matches_status check ((status = 'skipped') = (skip_reason is not null)),
  constraint skipped_at_is_after_created_at check (skipped_at >= created_at),
  constraint started_at_is_after_created_at check (started_at >= created_at),
  constraint status_and_remaining_tasks_match check (status <> 'completed' or remaining_tasks = 0),
  constraint status_is_valid check (status = any ('{created,started,completed,failed,skipped}')),
  constraint step_states_initial_tasks_check check (initial_tasks >= 0),
  constraint step_states_remaining_deps_check check (remaining_deps >= 0)
) with (fillfactor = 30);
comment on table pgflow.step_states is 'The state of one step in one run.';
-- A row of it that is handed on: the same columns. A type of its own, since every unnest of the table's row type copies the stored
-- text of all checks first.
create type pgflow._state as (
  flow_slug text, run_id uuid, step_slug text, status text, remaining_tasks integer, remaining_deps integer, created_at timestamptz,
  started_at timestamptz, completed_at timestamptz, failed_at timestamptz, error_message text, initial_tasks integer, output jsonb,
  skip_reason text, skipped_at timestamptz
);

create table pgflow.step_tasks (
  flow_slug text not null,
  run_id uuid not null,
  step_slug text not null,
  message_id bigint,
  task_index integer not null default 0,
  status text not null default 'queued',
  attempts_count integer not null default 0,
  error_message text,
  output jsonb,
  queued_at timestamptz not null default now(),
  completed_at timestamptz,
  failed_at timestamptz,
  started_at timestamptz,
  last_worker_id uuid,
  requeued_count integer not null default 0,
  last_requeued_at timestamptz,
  permanently_stalled_at timestamptz,
  queue_name text not null,
  attempts_forgiven integer not null default 0,
  -- The element of a map task, so that a claim need not detoast the whole array (9.8 K against 16.9 K tasks/s).
  input jsonb,
  -- When it may be claimed: its start, its start delay or the delay of its retry. The message says the same, and may be lost. Null: at once.
  due_at timestamptz,
  constraint step_tasks_pkey primary key (run_id, step_slug, task_index),
  constraint step_tasks_run_id_fkey foreign key (run_id) references pgflow.runs (run_id),
  constraint step_tasks_run_id_step_slug_fkey foreign key (run_id, step_slug) references pgflow.step_states (run_id, step_slug),
  constraint attempts_count_nonnegative check (attempts_count >= 0),
  constraint attempts_forgiven_is_at_most_attempts_count check (attempts_forgiven between 0 and attempts_count),
  constraint completed_at_is_after_queued_at check (completed_at >= queued_at),
  constraint completed_at_is_after_started_at check (completed_at >= started_at),
  constraint completed_at_or_failed_at check (completed_at is null or failed_at is null),
  constraint failed_at_is_after_queued_at check (failed_at >= queued_at),
  constraint failed_at_is_after_started_at check (failed_at >= started_at),
  constraint output_valid_only_for_completed check (output is null or status = any ('{completed,failed}')),
  constraint started_at_is_after_queued_at check (started_at >= queued_at),
  constraint valid_status check (status = any ('{queued,started,completed,failed,skipped,cancelled,waiting}'))
) with (fillfactor = 30);
-- Message identity. Neither column changes after the task is made, but when its message was lost or its run starts again.
create unique index step_tasks_queue_name_message_id_key on pgflow.step_tasks (queue_name, message_id) where message_id is not null;
comment on table pgflow.step_tasks is 'One unit of work of a step; (queue_name, message_id) is the identity of its message, (last_worker_id, attempts_count) its fencing token.';

-- The parking place: queued tasks that are due so much later that their message would lie in front of due ones, since pgmq reads in the
-- order of ids and steps over each that is hidden. They have no message until shortly before. A row says only when to look: what is true
-- stands on the task, so no key ties it to step_tasks, whose every delete would look here.
create table pgflow.parked_tasks (
  queue_name text not null,
  due_at timestamptz not null,
  run_id uuid not null,
  step_slug text not null,
  task_index integer not null,
  constraint parked_tasks_pkey primary key (run_id, step_slug, task_index)
);
create index parked_tasks_queue_name_due_at_idx on pgflow.parked_tasks (queue_name, due_at);
comment on table pgflow.parked_tasks is 'Queued tasks that are due in more than an hour. Their message is sent when their time comes.';

create table pgflow.task_attempts (
  run_id uuid not null,
  step_slug text not null,
  task_index integer not null,
  attempt integer not null,
  worker_id uuid,
  started_at timestamptz,
  ended_at timestamptz not null default now(),
  reason text not null,
  error_name text,
  error_message text,
  error_stack text,
  constraint task_attempts_pkey primary key (run_id, step_slug, task_index, attempt),
  -- Goes with its task, so that a clean-up that knows only the tables of the released line still works; so do waits.
  constraint task_attempts_task_fkey foreign key (run_id, step_slug, task_index)
    references pgflow.step_tasks (run_id, step_slug, task_index) on delete cascade,
  constraint task_attempts_reason_is_valid check (reason in ('failed', 'type_violation', 'stalled', 'released', 'cancelled', 'skipped'))
);
create index task_attempts_stalled_idx on pgflow.task_attempts (ended_at) where reason = 'stalled';
comment on table pgflow.task_attempts is 'One row per attempt that ended otherwise than completed.';

-- Durable waits that have something to come: open ones, with their deadline, and those that were resumed before they opened,
-- with the payload that waits for them. A row goes when its wait ends. Here and not on step_tasks, where an index on what is
-- open would end the HOT updates of every claim.
create table pgflow.waits (
  run_id uuid not null,
  step_slug text not null,
  opened_at timestamptz,
  due_at timestamptz,
  resumed_at timestamptz,
  payload jsonb,
  constraint waits_pkey primary key (run_id, step_slug),
  constraint waits_run_id_step_slug_fkey foreign key (run_id, step_slug)
    references pgflow.step_states (run_id, step_slug) on delete cascade,
  constraint wait_is_open_or_resumed check ((opened_at is null) <> (resumed_at is null)),
  constraint payload_comes_with_a_resume check ((payload is null) = (resumed_at is null)),
  constraint only_open_waits_are_due check (due_at is null or opened_at is not null)
);
create index waits_due_at_idx on pgflow.waits (due_at) where due_at is not null;
comment on table pgflow.waits is 'Open durable waits, and payloads that came before their wait opened. due_at: when an open one times out; null: never.';

-- Runs that somebody looks at: only their events are sent where the setting events is watched. Unlogged: after a crash
-- its readers ask again.
create unlogged table pgflow.watched_runs (
  run_id uuid not null,
  watched_until timestamptz not null,
  constraint watched_runs_pkey primary key (run_id)
);
comment on table pgflow.watched_runs is 'Runs whose state was asked for by a client in the last minutes.';
