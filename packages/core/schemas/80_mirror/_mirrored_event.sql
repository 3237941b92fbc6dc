-- An event as it is mirrored. Its id is text: JSON has no whole numbers of that size.
create function starflow._mirrored_event(p_event starflow.workflow_run_events)
returns jsonb
language sql stable
set search_path = pg_catalog, pg_temp set timezone = 'UTC'
return to_jsonb(p_event) || jsonb_build_object('id', p_event.id::text, 'payload_json', p_event.payload_json - '{input,output}'::text[]);
