/** The SQL functions that a worker calls, with the parameters that it names or relies on, in their order. */
export const WORKER_FUNCTIONS: readonly { readonly name: string; readonly args: readonly [string, string][] }[] = [
  {
    name: 'ensure_flow_compiled',
    args: [
      ['flow_slug', 'text'],
      ['shape', 'jsonb'],
      ['queue_mode', 'text'],
      ['route_map', 'jsonb'],
      ['step_slug', 'text'],
      ['code_age', 'interval'],
    ],
  },
  {
    name: 'register_worker',
    args: [
      ['worker_id', 'uuid'],
      ['queue_name', 'text'],
      ['function_name', 'text'],
      ['start_mode', 'text'],
      ['execution_id', 'uuid'],
    ],
  },
  { name: 'worker_heartbeat', args: [['worker_id', 'uuid']] },
  { name: 'deprecate_worker', args: [['worker_id', 'uuid']] },
  { name: 'mark_worker_stopped', args: [['worker_id', 'uuid']] },
  {
    name: 'report_usage',
    args: [
      ['worker_id', 'uuid'],
      ['tasks_count', 'integer'],
      ['cpu_ms', 'bigint'],
    ],
  },
  {
    name: 'report_start_failure',
    args: [
      ['function_name', 'text'],
      ['error_message', 'text'],
    ],
  },
  {
    name: 'settle_and_claim',
    args: [
      ['worker_id', 'uuid'],
      ['reports', 'jsonb'],
      ['queue_name', 'text'],
      ['flow_slug', 'text'],
      ['qty', 'integer'],
      ['step_slug', 'text'],
      ['on_unsupported', 'text'],
      ['alone', 'boolean'],
    ],
  },
  {
    name: 'settle_tasks',
    args: [
      ['worker_id', 'uuid'],
      ['reports', 'jsonb'],
    ],
  },
  {
    name: 'release_tasks',
    args: [
      ['worker_id', 'uuid'],
      ['tasks', 'jsonb'],
    ],
  },
  {
    name: 'lost_attempts',
    args: [
      ['worker_id', 'uuid'],
      ['tasks', 'jsonb'],
    ],
  },
  { name: 'requeue_stalled_tasks', args: [] },
  { name: 'find_worker_queue', args: [['queue_name', 'text']] },
  {
    name: 'settle_and_read',
    args: [
      ['worker_id', 'uuid'],
      ['queue_name', 'text'],
      ['reports', 'jsonb'],
      ['qty', 'integer'],
      ['visibility_timeout', 'integer'],
    ],
  },
  {
    name: 'extend_messages',
    args: [
      ['queue_name', 'text'],
      ['messages', 'jsonb'],
      ['visibility_timeout', 'integer'],
    ],
  },
]
