-- Half of each page stays free: neither a heartbeat nor a figure changes an indexed column, so each stays on its page.
create table pgflow.workers (
  worker_id uuid not null,
  queue_name text not null,
  function_name text not null,
  started_at timestamptz not null default now(),
  deprecated_at timestamptz,
  last_heartbeat_at timestamptz not null default now(),
  stopped_at timestamptz,
  execution_id uuid,
  tasks_count integer,
  cpu_ms bigint,
  constraint workers_pkey primary key (worker_id),
  constraint workers_tasks_count_check check (tasks_count >= 0),
  constraint workers_cpu_ms_check check (cpu_ms >= 0)
) with (fillfactor = 50);
create index workers_function_name_started_at_idx on pgflow.workers (function_name, started_at);
-- A worker lives for minutes and its row stays for a week: what looks for living ones must not meet the dead.
create index workers_unstopped_function_idx on pgflow.workers (function_name, queue_name) where stopped_at is null;
create index workers_unstopped_queue_idx on pgflow.workers (queue_name) where stopped_at is null;
create index workers_execution_idx on pgflow.workers (coalesce(execution_id, worker_id));
comment on table pgflow.workers is 'One row per worker that has registered. Live: stopped_at is null and the heartbeat is fresh.';
comment on column pgflow.workers.execution_id is 'The isolate or process that it lives in, as whoever runs it calls it; several workers may live in one. Null: the worker''s own id, as in the released line.';
comment on column pgflow.workers.tasks_count is 'How many tasks it has ended, completed or failed, as of its last report; null where it does not tell.';
comment on column pgflow.workers.cpu_ms is 'CPU of the isolate or process that it lives in, all its workers together; null where nobody has measured it.';

alter table pgflow.step_tasks add constraint step_tasks_last_worker_id_fkey
  foreign key (last_worker_id) references pgflow.workers (worker_id) on delete set null;

create table pgflow.worker_functions (
  function_name text not null,
  enabled boolean not null default true,
  debounce interval not null default '6 seconds',
  last_invoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now(),
  start_mode text not null default 'http',
  disabled_reason text,
  last_error text,
  last_error_at timestamptz,
  failed_starts integer not null default 0,
  enabled_before_fence boolean,
  fenced_by text,
  fenced_at timestamptz,
  start_awaited_since timestamptz,
  start_request_id bigint,
  constraint worker_functions_pkey primary key (function_name),
  constraint worker_functions_debounce_check check (debounce >= '1 second'),
  constraint worker_functions_start_mode_check check (start_mode in ('http', 'process')),
  constraint fence_is_remembered_whole check (
    (enabled_before_fence is null) = (fenced_by is null) and (fenced_by is null) = (fenced_at is null))
);
comment on table pgflow.worker_functions is 'What hosts workers under one name. enabled is the fence: while false it is never pinged, and a worker that starts anyway claims nothing.';
comment on column pgflow.worker_functions.start_awaited_since is 'When the ping was sent that has to bring up a worker, since none lived; null when it is known how that went.';
comment on column pgflow.worker_functions.start_request_id is 'That ping in pg_net: its answer is looked at.';

-- Unlogged as the tables of pg_net are: a crash of the database, or a failover, empties all of them, and gives pg_net's ids anew,
-- to other requests. What is not here any longer has no answer. Without a foreign key: whoever pings waits for no row.
create unlogged table pgflow.awaited_pings (
  function_name text not null,
  request_id bigint not null,
  constraint awaited_pings_pkey primary key (function_name)
);
comment on table pgflow.awaited_pings is 'The ping of each function whose answer is looked at, for as long as pg_net remembers it.';

-- Beside worker_functions and not in it: it is written every few seconds, and a start must not wait for that.
create table pgflow.fence_holds (
  function_name text not null,
  hold_id uuid not null,
  held_by text not null,
  held_until timestamptz not null,
  constraint fence_holds_pkey primary key (function_name),
  constraint fence_holds_function_name_fkey
    foreign key (function_name) references pgflow.worker_functions (function_name) on delete cascade
);
comment on table pgflow.fence_holds is 'Fences of rollouts and deploys that are at work: until held_until nobody else takes or lifts them. Whoever is at work prolongs it.';

create table pgflow.worker_function_queues (
  function_name text not null,
  queue_name text not null,
  enabled boolean not null default true,
  disabled_reason text,
  served_at timestamptz not null default now(),
  constraint worker_function_queues_pkey primary key (function_name, queue_name),
  constraint worker_function_queues_function_name_fkey
    foreign key (function_name) references pgflow.worker_functions (function_name) on delete cascade
);
create index worker_function_queues_queue_name_idx on pgflow.worker_function_queues (queue_name);
comment on table pgflow.worker_function_queues is 'Which queues a worker function has registered workers for: one, or several for a grouped function.';
