-- Queue names are lower-cased, so two flows may not differ in case alone.
create function pgflow._check_flow_slug_is_free(p_flow_slug text)
returns void
language plpgsql
set search_path = pg_catalog, pg_temp
as $$
declare
  v_taken text := (select f.flow_slug from pgflow.flows f where lower(f.flow_slug collate "C") = lower(p_flow_slug collate "C"));
begin
  if v_taken is not null then
    perform pgflow._raise('SF117', format('Flow "%s" differs only in case from flow "%s".', p_flow_slug, v_taken),
      'Their queue names are lower-cased, so they would share them.', 'Choose another slug.');
  end if;
end $$;
