-- Messages of queues without a flow that no worker could handle; redrive_dead_letters sends them again.
create table pgflow.dead_letters (
  dead_letter_id bigint generated always as identity,
  queue_name text not null,
  message_id bigint not null,
  message jsonb,
  headers jsonb,
  read_count integer not null,
  enqueued_at timestamptz not null,
  worker_id uuid,
  error_name text,
  error_message text not null,
  error_stack text,
  dead_at timestamptz not null default now(),
  constraint dead_letters_pkey primary key (dead_letter_id)
);
create index dead_letters_queue_name_idx on pgflow.dead_letters (queue_name, dead_letter_id);
comment on table pgflow.dead_letters is 'Messages of queues without a flow whose retries were used up or whose error was permanent, each with its last error.';

-- Reads that must not count as attempts. pgmq's read_ct only grows, and it is the fencing token of a message: what a
-- worker gives back unstarted is therefore remembered here, until the message ends. Nearly always empty.
create table pgflow.forgiven_reads (
  queue_name text not null,
  message_id bigint not null,
  read_count integer not null,
  constraint forgiven_reads_pkey primary key (queue_name, message_id, read_count)
);
comment on table pgflow.forgiven_reads is 'Reads of a message that were given back before its handler began.';
