create function pgflow._refuse_subscription(p_queue_name text, p_flow_slug text, p_step_slug text)
returns void
language plpgsql
as $$
begin
  perform pgflow._raise('SF302',
    format('Queue "%s" does not serve %s of flow "%s".', p_queue_name,
           case when p_step_slug is null then 'all steps' else format('step "%s"', p_step_slug) end, p_flow_slug),
    coalesce('Routes: ' || (select string_agg(format('%s → %s', s.step_slug, s.queue_name), ', ' order by s.step_index)
                            from pgflow._routes s where s.flow_slug = p_flow_slug) || '.', 'The flow has no routes.'),
    'Claim with the queue and step of a persisted route; a plain flow''s worker names no step.');
end $$;
