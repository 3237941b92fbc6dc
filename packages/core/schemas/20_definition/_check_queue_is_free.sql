-- A queue that a new definition wants must be absent, or it would serve two masters. Changes nothing.
create function pgflow._check_queue_is_free(p_queue_name text, p_flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_listed text;
  v_detail text;
  v_hint text;
begin
  begin
    perform pgmq.validate_queue_name(p_queue_name);
  exception when raise_exception then
    -- In its own words, which callers know; but they do not say whose queue it would be.
    get stacked diagnostics v_detail = pg_exception_detail, v_hint = pg_exception_hint;
    raise exception using errcode = sqlstate, message = sqlerrm,
      detail = coalesce(nullif(v_detail, ''), format('Flow "%s" would have the queue "%s", of %s characters.', p_flow_slug, p_queue_name, length(p_queue_name))),
      hint = coalesce(nullif(v_hint, ''), 'Choose another concrete flow slug, of at most 47 characters.');
  end;

  select l.queue_name into v_listed from pgmq.list_queues() l where lower(l.queue_name collate "C") = lower(p_queue_name collate "C") limit 1;
  if v_listed is not null then
    perform pgflow._raise('SF110', format('Queue "%s" already exists and is not owned by flow "%s".', p_queue_name, p_flow_slug),
      format('pgmq lists it as "%s".', v_listed),
      case when to_regclass('pgmq.q_' || p_queue_name) is null
           then format('Only the name is left, and no queue behind it: delete from pgmq.meta where queue_name = %L;', v_listed)
           else 'Choose another concrete flow slug, or drop the queue with pgmq.drop_queue once nothing needs it.' end);
  end if;
end $$;
