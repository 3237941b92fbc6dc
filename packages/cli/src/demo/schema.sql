-- The demo's own tables: what an application that uses Starflow would bring. Applied by `starflow demo` as role
-- postgres, before the first run. Safe to apply again; it is no part of the Starflow migrations.

create schema if not exists demo;

comment on schema demo is 'The README index of `starflow demo`. Nothing else uses it; it can be dropped.';

-- array_to_string is only stable for arrays in general; for text it depends on nothing, and a generated column asks for
-- immutable.
create or replace function demo.search_vector(title text, package text, headings text, keywords text[], body text)
returns tsvector
language sql
immutable
set search_path = pg_catalog, pg_temp
as $$
  select pg_catalog.setweight(pg_catalog.to_tsvector('pg_catalog.english', title || ' ' || package), 'A')
      || pg_catalog.setweight(pg_catalog.to_tsvector('pg_catalog.english', pg_catalog.array_to_string(keywords, ' ')), 'B')
      || pg_catalog.setweight(pg_catalog.to_tsvector('pg_catalog.english', headings), 'C')
      || pg_catalog.setweight(pg_catalog.to_tsvector('pg_catalog.english', body), 'D')
$$;

create table if not exists demo.documents (
  document_id text primary key,
  package text not null,
  version text not null,
  path text not null,
  title text not null,
  headings text not null,
  keywords text[] not null,
  code_languages text[] not null,
  words integer not null constraint words_is_nonnegative check (words >= 0),
  body text not null,
  run_id uuid not null,
  indexed_at timestamptz not null default now(),
  search tsvector not null generated always as (demo.search_vector(title, package, headings, keywords, body)) stored
);

create index if not exists documents_search on demo.documents using gin (search);

create table if not exists demo.broken_links (
  document_id text not null references demo.documents on delete cascade,
  target text not null,
  kind text not null,
  reason text not null,
  run_id uuid not null,
  found_at timestamptz not null default now(),
  primary key (document_id, target)
);

create index if not exists broken_links_run_id on demo.broken_links (run_id);
