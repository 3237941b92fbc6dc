-- What keys from the hot tables would do, which are absent (docs/adr/0001): a flow stays while it has a run, and a step and its
-- dependencies while a run has the step. Starts share the deletion's lock, so that none is under way that has read what goes. Definer,
-- so that no policy hides a run.
create function pgflow._keep_definition()
returns trigger
language plpgsql security definer
set search_path = pg_catalog, pg_temp
as $$
declare
  v_needed record;
begin
  if tg_op = 'TRUNCATE' then
    select r.flow_slug, r.run_id into v_needed from pgflow.runs r limit 1;
  else
    perform pg_advisory_xact_lock(pgflow._deletion_lock(o.flow_slug)) from (select distinct x.flow_slug from gone x order by 1) o;
    if tg_table_name = 'flows' then
      select r.flow_slug, r.run_id into v_needed from gone o join pgflow.runs r on r.flow_slug = o.flow_slug limit 1;
    else
      select r.flow_slug, r.run_id into v_needed from gone o
      join pgflow.runs r on r.flow_slug = o.flow_slug
      join pgflow.step_states s on s.run_id = r.run_id and s.step_slug = o.step_slug limit 1;
    end if;
  end if;
  if v_needed.run_id is not null then
    perform pgflow._raise('SF121', format('What is deleted from pgflow.%s is needed by runs of flow "%s".', tg_table_name, v_needed.flow_slug),
      format('Run %s is one of them. A run is worked on, shown and retried by the definition of its flow.', v_needed.run_id),
      format('Delete the flow with its runs and queues: select pgflow.delete_flow_and_data(%L); or define what is new under another slug.', v_needed.flow_slug));
  end if;
  return null;
end $$;
create trigger keep_definition after delete on pgflow.flows referencing old table as gone for each statement execute function pgflow._keep_definition();
create trigger keep_definition after delete on pgflow.steps referencing old table as gone for each statement execute function pgflow._keep_definition();
create trigger keep_definition after delete on pgflow.deps referencing old table as gone for each statement execute function pgflow._keep_definition();
create trigger keep_definition_truncated after truncate on pgflow.flows for each statement execute function pgflow._keep_definition();
create trigger keep_definition_truncated after truncate on pgflow.steps for each statement execute function pgflow._keep_definition();
create trigger keep_definition_truncated after truncate on pgflow.deps for each statement execute function pgflow._keep_definition();
