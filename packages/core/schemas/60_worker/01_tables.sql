create table pgflow.workers (
  worker_id uuid not null,
  queue_name text not null,
  function_name text not null,
  started_at timestamptz not null default now(),
  deprecated_at timestamptz,
  last_heartbeat_at timestamptz not null default now(),
  stopped_at timestamptz,
  constraint workers_pkey primary key (worker_id)
);
create index workers_function_name_idx on pgflow.workers (function_name);
create index workers_queue_name_idx on pgflow.workers (queue_name);
comment on table pgflow.workers is 'One row per worker that has registered. Live: stopped_at is null and the heartbeat is fresh.';

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
  constraint worker_functions_pkey primary key (function_name),
  constraint worker_functions_debounce_check check (debounce >= '1 second'),
  constraint worker_functions_start_mode_check check (start_mode in ('http', 'process'))
);
comment on table pgflow.worker_functions is 'What hosts workers under one name. enabled is the fence: while false it is never pinged, and a worker that starts anyway claims nothing.';
