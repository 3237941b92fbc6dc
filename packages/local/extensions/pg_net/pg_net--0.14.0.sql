-- The interface of pg_net 0.14 for a server that has none. These are the queue and the functions; the program that sends
-- the requests is the ticker of the local platform. It listens on the channel net_http_request, which is notified when a
-- request's transaction commits: a request that is rolled back is never sent.
--
-- Stricter than hosted projects, where every API role may call these functions: here nobody may but the role that asked
-- for the extension, and service_role.
\echo Use "CREATE EXTENSION pg_net" to load this file. \quit

create schema net;

create sequence net.http_request_queue_id_seq;

-- Unlogged, as there: requests that wait and answers of late do not survive a crash.
create unlogged table net.http_request_queue (
  id bigint primary key default nextval('net.http_request_queue_id_seq'),
  method text not null,
  url text not null,
  headers jsonb,
  body bytea,
  timeout_milliseconds integer not null
);

create unlogged table net._http_response (
  id bigint,
  status_code integer,
  content_type text,
  headers jsonb,
  content text,
  timed_out boolean,
  error_msg text,
  created timestamptz not null default now()
);
create index _http_response_id_idx on net._http_response (id);
create index _http_response_created_idx on net._http_response (created);

create function net._wake_sender() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_catalog.pg_notify('net_http_request', '');
  return null;
end
$$;
create trigger wake_sender after insert on net.http_request_queue
  for each statement execute function net._wake_sender();

-- Every byte but the unreserved characters of RFC 3986.
create function net._urlencode_string(string text) returns text
language sql immutable strict set search_path = pg_catalog, pg_temp as $$
  select coalesce(string_agg(
    case
      when character ~ '^[A-Za-z0-9._~-]$' then character
      else regexp_replace(upper(encode(convert_to(character, 'UTF8'), 'hex')), '(..)', '%\1', 'g')
    end, '' order by position), '')
  from regexp_split_to_table(string, '') with ordinality as given (character, position)
$$;

create function net._with_params(p_url text, p_params jsonb) returns text
language sql immutable set search_path = pg_catalog, pg_temp as $$
  select p_url || coalesce(
    case when position('?' in p_url) > 0 then '&' else '?' end
      || string_agg(net._urlencode_string(key) || '=' || net._urlencode_string(coalesce(value, '')), '&' order by position),
    '')
  from jsonb_each_text(coalesce(p_params, '{}')) with ordinality as given (key, value, position)
$$;

create function net.http_get(
  url text, params jsonb default '{}', headers jsonb default '{}', timeout_milliseconds integer default 5000
) returns bigint language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  insert into net.http_request_queue (method, url, headers, timeout_milliseconds)
  values ('GET', net._with_params(http_get.url, params), http_get.headers, http_get.timeout_milliseconds)
  returning id
$$;

create function net.http_delete(
  url text, params jsonb default '{}', headers jsonb default '{}', timeout_milliseconds integer default 5000,
  body jsonb default null
) returns bigint language sql volatile security definer set search_path = pg_catalog, pg_temp as $$
  insert into net.http_request_queue (method, url, headers, body, timeout_milliseconds)
  values (
    'DELETE', net._with_params(http_delete.url, params), http_delete.headers,
    convert_to(http_delete.body::text, 'UTF8'), http_delete.timeout_milliseconds
  )
  returning id
$$;

create function net.http_post(
  url text, body jsonb default '{}', params jsonb default '{}',
  headers jsonb default '{"Content-Type": "application/json"}', timeout_milliseconds integer default 5000
) returns bigint language plpgsql volatile security definer set search_path = pg_catalog, pg_temp as $$
declare
  v_content_type text := (
    select given.value from jsonb_each_text(http_post.headers) as given where lower(given.key) = 'content-type' limit 1
  );
  v_request_id bigint;
begin
  -- The body is jsonb, so it is JSON whatever a header says.
  if v_content_type <> 'application/json' then
    raise exception 'Content-Type header must be "application/json"';
  end if;
  insert into net.http_request_queue (method, url, headers, body, timeout_milliseconds)
  values (
    'POST', net._with_params(http_post.url, params),
    case
      when v_content_type is null then coalesce(http_post.headers, '{}') || '{"Content-Type": "application/json"}'
      else http_post.headers
    end,
    convert_to(http_post.body::text, 'UTF8'), http_post.timeout_milliseconds
  )
  returning id into v_request_id;
  return v_request_id;
end
$$;

-- Everything belongs to the role that asked for the extension; the functions write to the queue in its name.
alter schema net owner to @extowner@;
alter sequence net.http_request_queue_id_seq owner to @extowner@;
alter table net.http_request_queue owner to @extowner@;
alter table net._http_response owner to @extowner@;
do $$
declare
  v_function regprocedure;
begin
  for v_function in select oid from pg_catalog.pg_proc where pronamespace = 'net'::regnamespace loop
    execute format('revoke all on function %s from public', v_function);
    execute format('alter function %s owner to @extowner@', v_function);
  end loop;
  if exists (select from pg_catalog.pg_roles where rolname = 'service_role') then
    grant usage on schema net to service_role;
    grant execute on function
      net.http_get(text, jsonb, jsonb, integer), net.http_delete(text, jsonb, jsonb, integer, jsonb),
      net.http_post(text, jsonb, jsonb, jsonb, integer)
      to service_role;
    grant select on net._http_response to service_role;
  end if;
end
$$;
