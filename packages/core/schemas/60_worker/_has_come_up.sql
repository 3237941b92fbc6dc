-- Whether a worker of this function has registered since then, or one that was thought dead has been heard of again.
create function pgflow._has_come_up(p_function_name text, p_since timestamptz)
returns boolean
language sql stable
as $$
  select exists (
    select from pgflow.workers w where w.function_name = p_function_name
      and (w.started_at >= p_since or (w.last_heartbeat_at >= p_since and w.deprecated_at is null)))
$$;
