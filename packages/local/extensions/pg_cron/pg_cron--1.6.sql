-- The interface of pg_cron 1.6 for a server that has none. These are the tables and functions; the program that runs the
-- jobs is the ticker of the local platform, which reads cron.job and writes cron.job_run_details.
--
-- Simplified: jobs live in the database that they run in (pg_cron keeps those of all databases in one), so that a cloned
-- database has its own; cron.job.database only tells where a job was made. `@reboot` and `$` (last day of the month) are
-- refused, as is a job for another database.
\echo Use "CREATE EXTENSION pg_cron" to load this file. \quit

create schema cron;

create sequence cron.jobid_seq;
create sequence cron.runid_seq;

create table cron.job (
  jobid bigint primary key default nextval('cron.jobid_seq'),
  schedule text not null,
  command text not null,
  nodename text not null default 'localhost',
  nodeport integer not null default coalesce(inet_server_port(), current_setting('port')::integer),
  database text not null default current_database(),
  username text not null default current_user,
  active boolean not null default true,
  jobname text,
  constraint jobname_username_uniq unique (jobname, username)
);

create table cron.job_run_details (
  jobid bigint,
  runid bigint primary key default nextval('cron.runid_seq'),
  job_pid integer,
  database text,
  username text,
  command text,
  status text,
  return_message text,
  start_time timestamptz,
  end_time timestamptz
);
create index job_run_details_jobid_idx on cron.job_run_details (jobid, start_time);

select pg_catalog.pg_extension_config_dump('cron.job', '');
select pg_catalog.pg_extension_config_dump('cron.jobid_seq', '');

-- What is wrong with a schedule, or null: one to 59 seconds, a name, or the five fields of cron.
create function cron._schedule_problem(p_schedule text) returns text
language plpgsql immutable set search_path = pg_catalog, pg_temp as $$
declare
  v_schedule text := lower(btrim(p_schedule, E' \t'));
  v_names text[] := array['minute', 'hour', 'day of month', 'month', 'day of week'];
  v_min integer[] := array[0, 0, 1, 1, 0];
  v_max integer[] := array[59, 23, 31, 12, 7];
  v_words text[] := array[
    null, null, null,
    'jan feb mar apr may jun jul aug sep oct nov dec',
    'sun mon tue wed thu fri sat'
  ];
  v_fields text[];
  v_item text;
  v_parts text[];
  v_from integer;
  v_to integer;
begin
  if v_schedule ~ '^\d+\s+seconds?$' then
    return case
      when length(substring(v_schedule from '^0*(\d*)')) > 2
        or substring(v_schedule from '^\d+')::numeric not between 1 and 59
      then 'an interval is 1 to 59 seconds'
    end;
  end if;
  if v_schedule in ('@yearly', '@annually', '@monthly', '@weekly', '@daily', '@midnight', '@hourly') then
    return null;
  end if;

  v_fields := regexp_split_to_array(v_schedule, '\s+');
  if cardinality(v_fields) <> 5 then
    return format('it has %s fields, not 5', case when v_schedule = '' then 0 else cardinality(v_fields) end);
  end if;
  for v_index in 1 .. 5 loop
    foreach v_item in array string_to_array(v_fields[v_index], ',') loop
      -- star or from-to with an optional step, or one value
      v_parts := regexp_match(v_item, '^(?:(\*)|(\w+)-(\w+)|(\w+))(?:/(\d{1,4}))?$');
      if v_parts is null or (v_parts[4] is not null and v_parts[5] is not null) or v_parts[5]::integer = 0 then
        return format('%s "%s" is not understood', v_names[v_index], v_item);
      end if;
      continue when v_parts[1] is not null;
      v_from := cron._schedule_value(coalesce(v_parts[2], v_parts[4]), v_words[v_index], v_min[v_index]);
      v_to := cron._schedule_value(coalesce(v_parts[3], v_parts[4]), v_words[v_index], v_min[v_index]);
      if v_from is null or v_to is null then
        return format('%s "%s" is not understood', v_names[v_index], v_item);
      end if;
      if v_from < v_min[v_index] or v_to > v_max[v_index] or v_from > v_to then
        return format('%s "%s" is not within %s-%s', v_names[v_index], v_item, v_min[v_index], v_max[v_index]);
      end if;
    end loop;
  end loop;
  return null;
end
$$;

-- A number or one of the field's words; null for anything else.
create function cron._schedule_value(p_text text, p_words text, p_min integer) returns integer
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select case
    when p_text ~ '^\d{1,4}$' then p_text::integer
    else array_position(string_to_array(p_words, ' '), p_text) - 1 + p_min
  end
$$;

-- The rules of cron.job hold for direct writes too. A job runs as its user, so whoever writes one must be allowed to act
-- as that user: a role that bypasses row-level security could otherwise put words into a superuser's mouth.
create function cron._check_job() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  v_problem text := cron._schedule_problem(new.schedule);
begin
  if v_problem is not null then
    raise exception using
      errcode = 'invalid_parameter_value',
      message = format('invalid schedule: %s', new.schedule),
      detail = format('%s.', upper(left(v_problem, 1)) || substr(v_problem, 2)),
      hint = 'Use cron format (e.g. 5 4 * * *), or interval format ''[1-59] seconds''.';
  end if;
  if not exists (select from pg_catalog.pg_roles where rolname = new.username) then
    raise exception 'role "%" does not exist', new.username using errcode = 'undefined_object';
  end if;
  if not pg_catalog.pg_has_role(current_user, new.username, 'member')
    or (tg_op = 'UPDATE' and not pg_catalog.pg_has_role(current_user, old.username, 'member'))
  then
    raise exception 'permission denied to change a job of role "%"', new.username
      using errcode = 'insufficient_privilege';
  end if;
  if new.database <> current_database() and (tg_op = 'INSERT' or new.database <> old.database) then
    raise exception using
      errcode = 'feature_not_supported',
      message = 'a job cannot run in another database here',
      hint = format('Create the extension pg_cron in database "%s" and schedule the job there.', new.database);
  end if;
  return new;
end
$$;
create trigger check_job before insert or update on cron.job for each row execute function cron._check_job();

alter table cron.job enable row level security;
create policy cron_job_policy on cron.job using (username = current_user);
alter table cron.job_run_details enable row level security;
create policy cron_job_run_details_policy on cron.job_run_details using (username = current_user);

-- Functions. They run with the caller's rights, since a job belongs to the caller.

create function cron.schedule(schedule text, command text) returns bigint
language sql volatile set search_path = pg_catalog, pg_temp as $$
  insert into cron.job (schedule, command) values (schedule.schedule, schedule.command) returning jobid
$$;

-- The same name again changes the job of that name.
create function cron.schedule(job_name text, schedule text, command text) returns bigint
language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
declare
  v_job_id bigint;
begin
  if job_name is null then
    raise exception 'job_name can not be NULL' using errcode = 'invalid_parameter_value';
  end if;
  insert into cron.job as j (jobname, schedule, command)
  values (job_name, schedule.schedule, schedule.command)
  on conflict on constraint jobname_username_uniq
    do update set schedule = excluded.schedule, command = excluded.command
  returning j.jobid into v_job_id;
  return v_job_id;
end
$$;

create function cron._is_mine(p_username text) returns boolean language sql stable set search_path = pg_catalog, pg_temp as $$
  select p_username = current_user or (select rolsuper from pg_catalog.pg_roles where rolname = current_user)
$$;

create function cron.unschedule(job_id bigint) returns boolean language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  delete from cron.job where jobid = job_id and cron._is_mine(username);
  if not found then
    raise exception 'could not find valid entry for job ''%''', job_id;
  end if;
  return true;
end
$$;

create function cron.unschedule(job_name text) returns boolean language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  delete from cron.job where jobname = job_name and username = current_user;
  if not found then
    raise exception 'could not find valid entry for job ''%''', job_name;
  end if;
  return true;
end
$$;

create function cron.alter_job(
  job_id bigint, schedule text default null, command text default null, database text default null,
  username text default null, active boolean default null
) returns void language plpgsql volatile set search_path = pg_catalog, pg_temp as $$
begin
  update cron.job j
  set schedule = coalesce(alter_job.schedule, j.schedule),
      command = coalesce(alter_job.command, j.command),
      database = coalesce(alter_job.database, j.database),
      username = coalesce(alter_job.username, j.username),
      active = coalesce(alter_job.active, j.active)
  where j.jobid = job_id and cron._is_mine(j.username);
  if not found then
    raise exception 'Job % does not exist or you don''t own it', job_id;
  end if;
end
$$;

-- The tables are open to whoever may use the schema, row by row; the schema is closed to all but the role that asked
-- for the extension, which may pass that on.
grant select, insert, update, delete on cron.job to public;
grant select, delete on cron.job_run_details to public;
grant usage on sequence cron.jobid_seq to public;
grant usage on schema cron to @extowner@ with grant option;
grant all on cron.job, cron.job_run_details to @extowner@ with grant option;
grant all on sequence cron.jobid_seq, cron.runid_seq to @extowner@ with grant option;
grant execute on all functions in schema cron to @extowner@ with grant option;
