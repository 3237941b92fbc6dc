-- Somebody looks at this run: its events are sent for the next 5 minutes. Written at most once a minute per run. A replica
-- and a read-only transaction can only look.
create function pgflow._watch_run(p_run_id uuid)
returns void
language plpgsql
as $$
begin
  if pgflow.get_setting('events') = 'watched' and current_setting('transaction_read_only') = 'off' then
    insert into pgflow.watched_runs as w (run_id, watched_until) values (p_run_id, pgflow.clock() + interval '5 minutes')
    on conflict on constraint watched_runs_pkey do update set watched_until = excluded.watched_until
    where w.watched_until < pgflow.clock() + interval '4 minutes';
  end if;
end $$;
