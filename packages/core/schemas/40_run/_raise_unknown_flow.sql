create function pgflow._raise_unknown_flow(p_flow_slug text)
returns void
language plpgsql
as $$
begin
  perform pgflow._raise('SF201', format('Flow "%s" does not exist.', p_flow_slug),
    coalesce('Flows here: ' || (select string_agg(f.flow_slug, ', ' order by f.flow_slug) from (select flow_slug from pgflow.flows order by flow_slug limit 20) f) || '.',
             'No flow is compiled in this database.'),
    coalesce((select format('Did you mean "%s"? Slugs are case-sensitive.', f.flow_slug) from pgflow.flows f where lower(f.flow_slug collate "C") = lower(p_flow_slug collate "C")),
             'Start one of its workers first: a worker compiles its flow. Check the spelling too.'));
end $$;
