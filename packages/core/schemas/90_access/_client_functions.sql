-- What a role with client access may call; each checks ownership itself, or, resume_wait, the token that it is given.
create function pgflow._client_functions()
returns setof regprocedure
language sql stable
set search_path = pg_catalog, pg_temp
as $$
  values ('pgflow.start_flow(text, jsonb, uuid, text, timestamptz)'::regprocedure), ('pgflow.start_flows(text, jsonb, uuid[])'),
         ('pgflow.start_flow_with_states(text, jsonb, uuid)'), ('pgflow.get_run_with_states(uuid)'),
         ('pgflow.cancel_run(uuid, text)'), ('pgflow.cancel_runs(uuid[], text)'), ('pgflow.retry_run(uuid)'), ('pgflow.retry_runs(uuid[])'),
         ('pgflow.resume_wait(text, jsonb)'),
         ('pgflow._caller_id()'), ('pgflow._may_watch(text)')
$$;
