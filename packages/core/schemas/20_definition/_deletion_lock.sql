-- The key of the advisory lock that a deletion of the flow takes exclusively, and whoever makes or reads its messages
-- shares: starts wait for it, claims only try. Without it a deletion, which drops one queue after the other, and a call
-- that works on two of them would wait for each other.
create function pgflow._deletion_lock(p_flow_slug text)
returns bigint
language sql immutable
as $$
  select hashtextextended('pgflow.deletion:' || lower(p_flow_slug collate "C"), 0)
$$;
