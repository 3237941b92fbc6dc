-- jsonb containment: the input holds the required pattern, and does not hold the forbidden one.
create function pgflow._condition_is_met(p_input jsonb, p_required jsonb, p_forbidden jsonb)
returns boolean
language plpgsql immutable
as $$
begin
  return (p_required is null or p_input @> p_required) and (p_forbidden is null or not p_input @> p_forbidden);
end $$;
