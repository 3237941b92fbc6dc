create table pgflow.flows (
  flow_slug text not null,
  opt_max_attempts integer not null default 3,
  opt_base_delay integer not null default 1,
  opt_max_delay integer,
  opt_timeout integer not null default 60,
  queue_mode text not null default 'flow',
  input_schema jsonb,
  created_at timestamptz not null default now(),
  compiled_at timestamptz not null default now(),
  paused_at timestamptz,
  constraint flows_pkey primary key (flow_slug),
  constraint opt_base_delay_is_nonnegative check (opt_base_delay >= 0),
  constraint opt_max_attempts_is_nonnegative check (opt_max_attempts >= 0),
  constraint opt_max_delay_is_nonnegative check (opt_max_delay is null or opt_max_delay >= 0),
  constraint opt_timeout_is_positive check (opt_timeout > 0),
  constraint queue_mode_is_valid check (queue_mode in ('flow', 'step')),
  constraint slug_is_valid check (pgflow.is_valid_slug(flow_slug))
);
-- Queue names are lower-cased, so two spellings of one slug would share their queues.
create unique index flows_lower_flow_slug_key on pgflow.flows (lower(flow_slug collate "C"));
comment on table pgflow.flows is 'One row per concrete slug: an immutable shape, queue mode and route map.';

create table pgflow.steps (
  flow_slug text not null,
  step_slug text not null,
  step_type text not null default 'single',
  step_index integer not null default 0,
  deps_count integer not null default 0,
  opt_max_attempts integer,
  opt_base_delay integer,
  opt_max_delay integer,
  opt_timeout integer,
  created_at timestamptz not null default now(),
  opt_start_delay integer,
  required_input_pattern jsonb,
  forbidden_input_pattern jsonb,
  when_unmet text not null default 'skip',
  when_exhausted text not null default 'fail',
  queue_name text not null,
  -- Whether a map runs over this step's output, which must then be an array. Derived from deps by add_step.
  feeds_map boolean not null default false,
  constraint steps_pkey primary key (flow_slug, step_slug),
  constraint steps_flow_slug_step_index_key unique (flow_slug, step_index),
  constraint steps_flow_slug_fkey foreign key (flow_slug) references pgflow.flows (flow_slug),
  constraint forbidden_input_pattern_is_object check (forbidden_input_pattern is null or jsonb_typeof(forbidden_input_pattern) = 'object'),
  constraint opt_base_delay_is_nonnegative check (opt_base_delay is null or opt_base_delay >= 0),
  constraint opt_max_attempts_is_nonnegative check (opt_max_attempts is null or opt_max_attempts >= 0),
  constraint opt_max_delay_is_nonnegative check (opt_max_delay is null or opt_max_delay >= 0),
  constraint opt_start_delay_is_nonnegative check (opt_start_delay is null or opt_start_delay >= 0),
  constraint opt_timeout_is_positive check (opt_timeout is null or opt_timeout > 0),
  constraint required_input_pattern_is_object check (required_input_pattern is null or jsonb_typeof(required_input_pattern) = 'object'),
  -- The names that _derive_routes can give to this very step. No slug holds "__", so that no other step and no other flow has one of
  -- them: a route leads into no foreign queue, and a deletion by routes drops none.
  -- A slug that is not valid is refused by steps_step_slug_check, whose name callers know.
  constraint queue_is_its_own check (not pgflow.is_valid_slug(step_slug) or queue_name in (
    lower(flow_slug collate "C"), lower((flow_slug || '__' || step_slug) collate "C"), lower((flow_slug || '__' || step_index::text) collate "C"))),
  constraint steps_deps_count_check check (deps_count >= 0),
  constraint steps_step_slug_check check (pgflow.is_valid_slug(step_slug)),
  constraint steps_step_type_check check (step_type in ('single', 'map', 'wait')),
  constraint wait_runs_nothing check (
    step_type <> 'wait' or num_nonnulls(opt_max_attempts, opt_base_delay, opt_max_delay, opt_start_delay) = 0),
  constraint when_exhausted_is_valid check (when_exhausted in ('fail', 'skip', 'skip-cascade')),
  constraint when_unmet_is_valid check (when_unmet in ('fail', 'skip', 'skip-cascade'))
);
create unique index steps_lower_step_slug_key on pgflow.steps (flow_slug, lower(step_slug collate "C"));
create index steps_queue_name_idx on pgflow.steps (queue_name);
comment on table pgflow.steps is
  'The steps of a flow; (flow_slug, step_slug) → queue_name is its route, ordered by step_index. A wait has no route: its queue_name is lower(flow_slug), and no message of it is ever sent.';

-- Which queue serves which step: every step but the waits, which hold no worker and no message.
create view pgflow._routes as
  select s.flow_slug, s.step_slug, s.step_index, s.queue_name from pgflow.steps s where s.step_type <> 'wait';

create table pgflow.deps (
  flow_slug text not null,
  dep_slug text not null,
  step_slug text not null,
  created_at timestamptz not null default now(),
  constraint deps_pkey primary key (flow_slug, dep_slug, step_slug),
  constraint deps_flow_slug_fkey foreign key (flow_slug) references pgflow.flows (flow_slug),
  constraint deps_flow_slug_dep_slug_fkey foreign key (flow_slug, dep_slug) references pgflow.steps (flow_slug, step_slug),
  constraint deps_flow_slug_step_slug_fkey foreign key (flow_slug, step_slug) references pgflow.steps (flow_slug, step_slug),
  constraint deps_check check (dep_slug <> step_slug)
);
create index deps_by_step_idx on pgflow.deps (flow_slug, step_slug);
comment on table pgflow.deps is 'dep_slug → step_slug: the step needs the output of the dependency.';

-- What a startup compile changed, kept so that two versions of the code that undo each other's options are noticed.
create table pgflow.option_changes (
  flow_slug text not null,
  step_slug text not null default '',
  option_name text not null,
  old_value integer,
  new_value integer,
  changed_at timestamptz not null default now(),
  constraint option_changes_pkey primary key (flow_slug, step_slug, option_name),
  constraint option_changes_flow_slug_fkey foreign key (flow_slug) references pgflow.flows (flow_slug) on delete cascade
);
comment on table pgflow.option_changes is 'The last change of each option at a startup compile; step_slug is empty for a flow''s own.';
