-- The hot call of a queue worker, in one round trip: settles what has ended, then reads up to qty messages and hides them
-- for visibility_timeout seconds. (message id, read count) is the fencing token: who has read a message last holds it.
create function pgflow.settle_and_read(worker_id uuid, queue_name text, reports jsonb, qty integer, visibility_timeout integer)
returns setof pgflow.message_item
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_worker record;
begin
  perform pgflow._check_reports(settle_and_read.worker_id, reports);
  if jsonb_array_length(reports) > 0 then
    return query select * from pgflow._settle_messages(settle_and_read.worker_id, settle_and_read.queue_name, reports);
  end if;
  if qty is null or qty <= 0 then
    return;
  end if;

  select * into v_worker from pgflow._worker_state(settle_and_read.worker_id);
  if v_worker.state <> 'running' then
    return next row('worker', null, null, null, null, null, null, v_worker.state)::pgflow.message_item;
    return;
  end if;
  if v_worker.is_beat_due then
    perform pgflow._beat_with_claim(settle_and_read.worker_id);
  end if;
  return query
    select 'claimed', m.msg_id, m.read_ct::integer,
           (select count(*) from pgflow.forgiven_reads f
            where f.queue_name = settle_and_read.queue_name and f.message_id = m.msg_id)::integer,
           m.enqueued_at, m.message, m.headers, null::text
    from pgmq.read(settle_and_read.queue_name, visibility_timeout, qty) m;
end $$;
comment on function pgflow.settle_and_read(uuid, text, jsonb, integer, integer) is
  'For workers of queues without a flow. Reports: [{message_id, read_count, status: completed|retry|dead|released, retry_delay (s; of retry and released), error_message, error: {name, stack}}]. Rows by kind: claimed; refused (with its reason); worker (reason: why nothing was read).';
