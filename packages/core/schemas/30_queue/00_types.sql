create type pgflow.step_task_record as (
  flow_slug text, run_id uuid, step_slug text, input jsonb, msg_id bigint, task_index integer, flow_input jsonb
);
-- What a queue worker's call answers, one row a fact: claimed, refused, or the worker's state.
create type pgflow.message_item as (
  kind text, msg_id bigint, read_ct integer, forgiven_count integer, enqueued_at timestamptz, message jsonb, headers jsonb, reason text
);
