-- What is known of the start that a function was pinged for: is_over when there is nothing left to wait for, and then, if it
-- failed, why and when. It goes well when a worker registers, or one that was thought dead is heard of again. It fails when the
-- ping is answered with anything but success, or when no worker has come in time although it was, or nobody knows how it was
-- answered: an answer is gone soon, and it says nothing of where a worker registers.
create function pgflow._failed_start(
  p_function pgflow.worker_functions, p_key text, out is_over boolean, out error_message text, out failed_at timestamptz)
language plpgsql stable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_answer record;
  v_said text;
begin
  is_over := p_function.start_awaited_since is null
    or pgflow._has_come_up(p_function.function_name, p_function.start_awaited_since);
  if is_over then
    return;
  end if;
  select * into v_answer from pgflow._ping_answer(p_function.function_name, p_function.start_request_id, p_function.start_awaited_since);
  v_said := coalesce(': ' || pgflow._readable_answer(v_answer.body, p_key), '');

  if v_answer.error_message is not null then
    error_message := 'The ping was not answered: ' || pgflow._readable_answer(v_answer.error_message, p_key);
    failed_at := v_answer.answered_at;
  elsif v_answer.status_code = 503 and v_answer.body ~ '"status"\s*:\s*"stopping"' then
    -- An isolate that takes nothing more: the next ping reaches a fresh one.
    is_over := true;
  elsif v_answer.status_code not between 200 and 299 then
    error_message := format('The ping was answered with status %s%s', v_answer.status_code, v_said);
    failed_at := v_answer.answered_at;
  elsif p_function.start_awaited_since < pgflow.clock() - interval '30 seconds' then
    error_message := 'No worker has registered here within 30 s of the ping, '
      || coalesce('which was answered with status ' || v_answer.status_code || v_said, 'and no answer to it is known');
    failed_at := pgflow.clock();
  end if;
  is_over := is_over or error_message is not null;
end $$;
