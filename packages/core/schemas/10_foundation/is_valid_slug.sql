-- One contract for flow and step slugs; the dsl's slug.ts is its twin and both run packages/dsl/vectors/names.json.
-- "__" is what generated queue names join with, so no slug may hold it.
create function pgflow.is_valid_slug(slug text)
returns boolean
language sql immutable
set search_path = pg_catalog, pg_temp
as $$
  select coalesce(
    slug ~ '^[a-zA-Z]([a-zA-Z0-9_]*[a-zA-Z0-9])?$' and slug !~ '__' and length(slug) <= 128 and slug <> 'run',
    false)
$$;
comment on function pgflow.is_valid_slug(text) is 'First character a letter, last a letter or digit, letters, digits and single underscores, at most 128, not "run".';
