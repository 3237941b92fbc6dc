/**
 * The schema of a database of the released line, as far as anybody outside can see it: tables, checks, keys, and of its functions
 * those that roles may call, without what they did.
 */
export const RELEASED_SCHEMA = `
create schema pgflow;
create function pgflow.is_valid_slug(slug text) returns boolean language sql immutable as $$
  select slug is not null and slug <> '' and length(slug) <= 128 and slug ~ '^[a-zA-Z_][a-zA-Z0-9_]*$' and slug <> 'run'
$$;
create table pgflow.flows (
  flow_slug text primary key,
  opt_max_attempts integer not null default 3,
  opt_base_delay integer not null default 1,
  opt_timeout integer not null default 60,
  created_at timestamptz not null default now(),
  constraint slug_is_valid check (pgflow.is_valid_slug(flow_slug))
);
create table pgflow.steps (
  flow_slug text not null references pgflow.flows (flow_slug),
  step_slug text not null,
  step_type text not null default 'single',
  step_index integer not null default 0,
  deps_count integer not null default 0,
  opt_max_attempts integer,
  opt_base_delay integer,
  opt_timeout integer,
  created_at timestamptz not null default now(),
  opt_start_delay integer,
  required_input_pattern jsonb,
  forbidden_input_pattern jsonb,
  when_unmet text not null default 'skip',
  when_exhausted text not null default 'fail',
  primary key (flow_slug, step_slug),
  unique (flow_slug, step_index),
  check (pgflow.is_valid_slug(step_slug))
);
create table pgflow.deps (
  flow_slug text not null references pgflow.flows (flow_slug),
  dep_slug text not null,
  step_slug text not null,
  created_at timestamptz not null default now(),
  primary key (flow_slug, dep_slug, step_slug),
  foreign key (flow_slug, dep_slug) references pgflow.steps (flow_slug, step_slug),
  foreign key (flow_slug, step_slug) references pgflow.steps (flow_slug, step_slug)
);
create table pgflow.runs (
  run_id uuid primary key default gen_random_uuid(),
  flow_slug text not null references pgflow.flows (flow_slug),
  status text not null default 'started',
  input jsonb not null,
  output jsonb,
  remaining_steps integer not null default 0,
  started_at timestamptz not null default now(),
  completed_at timestamptz,
  failed_at timestamptz
);
create table pgflow.step_states (
  flow_slug text not null references pgflow.flows (flow_slug),
  run_id uuid not null references pgflow.runs (run_id),
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
  primary key (run_id, step_slug)
);
create table pgflow.workers (
  worker_id uuid primary key,
  queue_name text not null,
  function_name text not null,
  started_at timestamptz not null default now(),
  deprecated_at timestamptz,
  last_heartbeat_at timestamptz not null default now(),
  stopped_at timestamptz
);
create table pgflow.step_tasks (
  flow_slug text not null references pgflow.flows (flow_slug),
  run_id uuid not null references pgflow.runs (run_id),
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
  last_worker_id uuid references pgflow.workers (worker_id) on delete set null,
  requeued_count integer not null default 0,
  last_requeued_at timestamptz,
  permanently_stalled_at timestamptz,
  primary key (run_id, step_slug, task_index),
  foreign key (run_id, step_slug) references pgflow.step_states (run_id, step_slug)
);
create table pgflow.worker_functions (
  function_name text primary key,
  enabled boolean not null default true,
  debounce interval not null default '6 seconds',
  last_invoked_at timestamptz,
  created_at timestamptz not null default now(),
  updated_at timestamptz not null default now()
);
create type pgflow.step_task_record as (
  flow_slug text, run_id uuid, step_slug text, input jsonb, msg_id bigint, task_index integer, flow_input jsonb
);
create function pgflow.start_tasks(flow_slug text, msg_ids bigint[], worker_id uuid) returns setof pgflow.step_task_record
  language sql as 'select null::pgflow.step_task_record where false';
create function pgflow.start_flow(flow_slug text, input jsonb, run_id uuid default null) returns setof pgflow.runs
  language sql as 'select * from pgflow.runs where false';
create function pgflow.start_flow_with_states(flow_slug text, input jsonb, run_id uuid default null) returns jsonb
  language sql security definer as 'select null::jsonb';
create function pgflow.get_run_with_states(run_id uuid) returns jsonb
  language sql security definer as 'select null::jsonb';
create function pgflow.requeue_stalled_tasks() returns integer
  language sql security definer as 'select 0';
`

/** What is in it: a flow of one step and one with a map, with runs that are open, half done and over. */
export const RELEASED_ROWS = `
insert into pgflow.flows values ('Mails', 2, 5, 30, now() - interval '90 days'), ('lists', 3, 0, 60, now() - interval '80 days');
insert into pgflow.steps (flow_slug, step_slug, step_type, step_index, deps_count, opt_timeout, when_exhausted) values
  ('Mails', 'write', 'single', 0, 0, 20, 'fail'),
  ('lists', 'load', 'single', 0, 0, null, 'fail'),
  ('lists', 'each', 'map', 1, 1, null, 'skip'),
  ('lists', 'sum', 'single', 2, 1, null, 'fail');
insert into pgflow.deps (flow_slug, dep_slug, step_slug) values ('lists', 'load', 'each'), ('lists', 'each', 'sum');
insert into pgflow.workers values ('00000000-0000-4000-8000-000000000001', 'Mails', 'mailer', now() - interval '1 hour', null, now() - interval '1 hour');
insert into pgflow.worker_functions (function_name, enabled, debounce) values ('mailer', true, '8 seconds'), ('lister', false, '6 seconds');
select pgmq.create('Mails'), pgmq.create('lists');

insert into pgflow.runs (run_id, flow_slug, status, input, output, remaining_steps, started_at, completed_at, failed_at) values
  ('00000000-0000-4000-8000-00000000000a', 'Mails', 'started', '{"n": 1}', null, 1, now() - interval '2 hours', null, null),
  ('00000000-0000-4000-8000-00000000000b', 'Mails', 'started', '{"n": 2}', null, 1, now() - interval '2 hours', null, null),
  ('00000000-0000-4000-8000-00000000000c', 'Mails', 'completed', '{"n": 3}', '{"write": 3}', 0, now() - interval '3 hours', now() - interval '2 hours', null),
  ('00000000-0000-4000-8000-00000000000d', 'Mails', 'failed', '{"n": 4}', null, 1, now() - interval '3 hours', null, now() - interval '2 hours'),
  ('00000000-0000-4000-8000-00000000000e', 'lists', 'started', '{}', null, 2, now() - interval '2 hours', null, null);
insert into pgflow.step_states (flow_slug, run_id, step_slug, status, remaining_tasks, initial_tasks, remaining_deps, created_at, started_at, completed_at, failed_at, error_message, output)
select 'Mails', r.run_id, 'write', r.status, case when r.status = 'completed' then 0 else 1 end, 1, 0, r.started_at, r.started_at, r.completed_at, r.failed_at,
       case when r.status = 'failed' then 'no paper' end, case when r.status = 'completed' then '3'::jsonb end
from pgflow.runs r where r.flow_slug = 'Mails';
insert into pgflow.step_states (flow_slug, run_id, step_slug, status, remaining_tasks, initial_tasks, remaining_deps, created_at, started_at, completed_at, output) values
  ('lists', '00000000-0000-4000-8000-00000000000e', 'load', 'completed', 0, 1, 0, now() - interval '2 hours', now() - interval '2 hours', now() - interval '1 hour', '[10, null, 30]'),
  ('lists', '00000000-0000-4000-8000-00000000000e', 'each', 'started', 2, 3, 0, now() - interval '2 hours', now() - interval '1 hour', null, null),
  ('lists', '00000000-0000-4000-8000-00000000000e', 'sum', 'created', null, null, 1, now() - interval '2 hours', null, null, null);

insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, message_id, status, attempts_count, queued_at, started_at, last_worker_id)
select 'Mails', r.run_id, 'write', 0, pgmq.send('Mails', jsonb_build_object('flow_slug', 'Mails', 'run_id', r.run_id, 'step_slug', 'write', 'task_index', 0)),
       case when r.input ->> 'n' = '1' then 'queued' else 'started' end, case when r.input ->> 'n' = '1' then 0 else 1 end, r.started_at,
       case when r.input ->> 'n' = '2' then now() - interval '1 hour' end,
       case when r.input ->> 'n' = '2' then '00000000-0000-4000-8000-000000000001'::uuid end
from pgflow.runs r where r.flow_slug = 'Mails' and r.status = 'started' order by r.run_id;
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, message_id, status, attempts_count, output, error_message, queued_at, started_at, completed_at, failed_at) values
  ('Mails', '00000000-0000-4000-8000-00000000000c', 'write', 0, null, 'completed', 1, '3', null, now() - interval '3 hours', now() - interval '3 hours', now() - interval '2 hours', null),
  ('Mails', '00000000-0000-4000-8000-00000000000d', 'write', 0, 900, 'failed', 2, null, 'no paper', now() - interval '3 hours', now() - interval '3 hours', null, now() - interval '2 hours'),
  ('lists', '00000000-0000-4000-8000-00000000000e', 'load', 0, 700, 'completed', 1, '[10, null, 30]', null, now() - interval '2 hours', now() - interval '2 hours', now() - interval '1 hour', null),
  ('lists', '00000000-0000-4000-8000-00000000000e', 'each', 0, 701, 'completed', 1, '11', null, now() - interval '1 hour', now() - interval '1 hour', now() - interval '1 hour', null);
insert into pgflow.step_tasks (flow_slug, run_id, step_slug, task_index, message_id, queued_at)
select 'lists', '00000000-0000-4000-8000-00000000000e', 'each', i, pgmq.send('lists', jsonb_build_object('flow_slug', 'lists', 'task_index', i)), now() - interval '1 hour'
from generate_series(1, 2) i;
`
