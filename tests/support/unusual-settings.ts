/** `SETTINGS=unusual`: the tests run on a server and databases of which each setting is another than usual, and lawful. */
export const IS_UNUSUAL = process.env.SETTINGS === 'unusual'

/** What sessions get that set nothing themselves. */
export const UNUSUAL_SETTINGS = {
  datestyle: 'German, DMY',
  intervalstyle: 'sql_standard',
  timezone: 'Asia/Kathmandu',
  bytea_output: 'escape',
  extra_float_digits: 0,
  xmlbinary: 'hex',
  standard_conforming_strings: 'on',
  default_statistics_target: 10,
  row_security: 'on',
}

/** Turkish: the letters of `i` and `I` are two each, and texts sort by language. */
export const UNUSUAL_DATABASE = "template template0 locale_provider icu icu_locale 'tr-TR'"

/** What a database may have before Starflow comes: event triggers, and default privileges in both directions. */
export const UNUSUAL_HABITS = `
  create function public.count_commands() returns event_trigger language plpgsql as $$
  begin
    perform count(*) from pg_event_trigger_ddl_commands();
  end $$;
  create event trigger count_commands on ddl_command_end execute function public.count_commands();
  alter default privileges for role postgres grant all on tables to anon, authenticated;
  alter default privileges for role postgres grant all on sequences to anon, authenticated;
  alter default privileges for role postgres grant execute on functions to anon, authenticated;
  alter default privileges for role postgres revoke usage on types from public;`

/** And what comes after. Not of all tables: pgmq's own table of queues has no key, so that no queue could be dropped any more. */
export const UNUSUAL_PUBLICATION = 'create publication everything for tables in schema pgflow, starflow, public'
