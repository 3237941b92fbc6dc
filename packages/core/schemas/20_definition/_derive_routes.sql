-- The canonical names: which queue serves each step of p_step_slugs (in order; null: a wait, which has no queue and keeps
-- its place). Nothing is truncated or hashed. The
-- dsl's queue-name.ts is the twin; both run packages/dsl/vectors/names.json.
-- 47 is pgmq's own limit: template_pgmq_q_ (16) + 47 = 63, the longest identifier of Postgres.
create function pgflow._derive_routes(p_flow_slug text, p_step_slugs text[], p_queue_mode text)
returns table (step_slug text, step_index integer, queue_name text)
language plpgsql immutable
set search_path = pg_catalog, pg_temp
as $$
declare
  v_max constant integer := 47;
  v_step record;
begin
  if p_queue_mode = 'flow' then
    return query
      select s.slug, (s.ordinal - 1)::integer, lower(p_flow_slug collate "C")
      from unnest(p_step_slugs) with ordinality as s(slug, ordinal)
      where s.slug is not null;
    return;
  end if;

  if length(p_flow_slug || '__0') > v_max then
    perform pgflow._raise('SF101',
      format('Flow "%s" cannot use per-step queues.', p_flow_slug),
      format('The shortest required queue "%s__0" is %s characters; PGMQ allows at most %s.',
             p_flow_slug, length(p_flow_slug || '__0'), v_max),
      'Shorten the concrete flow slug or use the default single queue.');
  end if;

  for v_step in
    select s.slug, (s.ordinal - 1)::integer as index,
           lower((p_flow_slug || '__' || s.slug) collate "C") as readable,
           lower((p_flow_slug || '__' || (s.ordinal - 1)) collate "C") as fallback
    from unnest(p_step_slugs) with ordinality as s(slug, ordinal)
    where s.slug is not null
    order by s.ordinal
  loop
    step_slug := v_step.slug;
    step_index := v_step.index;
    queue_name := case when length(v_step.readable) <= v_max then v_step.readable
                       when length(v_step.fallback) <= v_max then v_step.fallback end;
    if queue_name is null then
      perform pgflow._raise('SF102',
        format('Cannot derive a queue for step "%s" at index %s in flow "%s".', v_step.slug, v_step.index, p_flow_slug),
        format('The readable name is %s characters and the index fallback is %s; PGMQ allows at most %s.',
               length(v_step.readable), length(v_step.fallback), v_max),
        'Shorten the concrete flow slug, shorten the step slug enough for the readable name, or use the default single queue.');
    end if;
    return next;
  end loop;
end $$;
