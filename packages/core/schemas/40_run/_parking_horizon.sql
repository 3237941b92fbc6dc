-- How far ahead a task may be due and have its message in the queue, hidden. What is due later is parked: many hidden messages
-- slow every claim of their queue, and callers of the released interface see short delays as hidden messages.
create function pgflow._parking_horizon()
returns interval
language sql immutable
as $$ select interval '1 hour' $$;
