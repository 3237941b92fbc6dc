create function pgflow.start_flows(flow_slug text, inputs jsonb, run_ids uuid[] default null)
returns setof pgflow.runs
language plpgsql security definer
set search_path = pg_catalog, pg_temp set plan_cache_mode = force_generic_plan set enable_seqscan = off set enable_hashjoin = off
set enable_mergejoin = off set jit = off
as $$
declare
  v_inputs jsonb[];
  v_run_ids uuid[];
  v_ordered_ids uuid[];
  v_started uuid[];
begin
  if jsonb_typeof(inputs) is distinct from 'array' then
    perform pgflow._raise('SF203', format('The inputs for flow "%s" must be one JSON array.', start_flows.flow_slug),
      format('Got %s.', coalesce(jsonb_typeof(inputs), 'null')), 'Send one element per run.');
  end if;
  if jsonb_array_length(inputs) > 1000 and not pgflow._caller_is_server() then
    perform pgflow._raise('SF203', format('Too many inputs for flow "%s" in one call.', start_flows.flow_slug),
      format('%s inputs; a client may send 1000.', jsonb_array_length(inputs)), 'Send them in several calls, or start them from a server.');
  end if;
  if run_ids is not null and cardinality(run_ids) <> jsonb_array_length(inputs) then
    perform pgflow._raise('SF203', format('Flow "%s" needs one run id for each input.', start_flows.flow_slug),
      format('%s inputs, %s run ids.', jsonb_array_length(inputs), cardinality(run_ids)), 'Leave run_ids out, or send as many as inputs.');
  end if;
  -- By their order, not by their subscripts: an array may begin at another one, and one of arrays has two.
  v_run_ids := array(select u from unnest(run_ids) u);
  select array_agg(i.value order by i.ordinality),
         array_agg(coalesce(v_run_ids[i.ordinality], pgflow.new_run_id()) order by i.ordinality)
  into v_inputs, v_run_ids
  from jsonb_array_elements(inputs) with ordinality i;
  if v_inputs is null then
    return;
  end if;
  if start_flows.run_ids is null then
    v_started := array(select s from pgflow._start_runs(start_flows.flow_slug, v_run_ids, v_inputs) s);
  else
    -- Ids that others may ask for at the same time are inserted in their order: of two starts one waits for the other.
    select array_agg(u.run_id order by u.run_id, u.ordinal), array_agg(u.input order by u.run_id, u.ordinal) into v_ordered_ids, v_inputs
    from unnest(v_run_ids, v_inputs) with ordinality u(run_id, input, ordinal);
    v_started := array(select s from pgflow._start_runs(start_flows.flow_slug, v_ordered_ids, v_inputs) s);
  end if;
  if cardinality(v_started) < cardinality(v_run_ids) then
    perform pgflow._check_run_ids(start_flows.flow_slug, array(select u from unnest(v_run_ids) u except select s from unnest(v_started) s));
  end if;
  return query
    select r.* from unnest(v_run_ids) with ordinality u(run_id, ordinal)
    join pgflow.runs r on r.run_id = u.run_id order by u.ordinal;
end $$;
comment on function pgflow.start_flows(text, jsonb, uuid[]) is
  'Starts one run for each element of the JSON array inputs, of which a client may send 1000. A run id of the same caller that exists gives its run back, unchanged; one of another flow or caller is refused.';
