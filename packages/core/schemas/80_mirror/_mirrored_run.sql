-- A run as it is mirrored: small, without what only its runner needs, and without what every heartbeat changes. Instants in UTC, so that
-- two of them can be compared as they are.
create function starflow._mirrored_run(p_run starflow.workflow_runs)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
return to_jsonb(p_run) - '{input,output,checkpoint_json,idempotency_key,traceparent,lease_until,last_heartbeat}'::text[];
