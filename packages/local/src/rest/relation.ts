import type { PoolClient } from 'pg'
import type { ColumnSource } from './column-path.ts'
import { RestError } from './rest-error.ts'

/** A table or view that may be asked, as the catalog knows it. */
export interface Relation extends ColumnSource {
  readonly schema: string
  readonly name: string
  readonly columns: readonly RelationColumn[]
  /** Columns of the primary key; none where there is none. */
  readonly primaryKey: readonly string[]
}

export interface RelationColumn {
  readonly name: string
  /** The type as SQL, with its length or precision. */
  readonly type: string
  readonly isJson: boolean
  /** The default as SQL. */
  readonly defaultValue: string | null
}

const FIND_RELATION = `
  select
    (select coalesce(json_agg(json_build_object(
         'name', a.attname,
         'type', format_type(a.atttypid, a.atttypmod),
         'isJson', a.atttypid in ('json'::regtype, 'jsonb'::regtype),
         'defaultValue', case
           when a.attidentity = 'd'
             then format('nextval(%L)', pg_get_serial_sequence(format('%I.%I', n.nspname, c.relname), a.attname))
           when a.attgenerated = '' then pg_get_expr(d.adbin, d.adrelid)
         end) order by a.attnum), '[]')
     from pg_attribute a
     left join pg_attrdef d on d.adrelid = a.attrelid and d.adnum = a.attnum
     where a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped) as columns,
    (select coalesce(json_agg(a.attname order by k.place), '[]')
     from pg_index i
     cross join unnest(i.indkey) with ordinality as k (attnum, place)
     join pg_attribute a on a.attrelid = i.indrelid and a.attnum = k.attnum
     where i.indrelid = c.oid and i.indisprimary) as "primaryKey"
  from pg_class c
  join pg_namespace n on n.oid = c.relnamespace
  where n.nspname = $1::text and c.relname = $2::text and c.relkind in ('r', 'p', 'v', 'm', 'f')`

/** Throws PGRST205 where there is none of that name. */
export async function findRelation(client: PoolClient, schema: string, name: string): Promise<Relation> {
  const { rows } = await client.query<Pick<Relation, 'columns' | 'primaryKey'>>(FIND_RELATION, [schema, name])
  const found = rows[0]
  if (found === undefined) {
    throw new RestError({
      status: 404,
      code: 'PGRST205',
      message: `Could not find the table '${schema}.${name}' in the schema cache`,
    })
  }
  const json = new Set(found.columns.filter((column) => column.isJson).map((column) => column.name))
  return { ...found, schema, name, alias: name, isJson: (column) => json.has(column) }
}

/** The columns of these names. Throws PGRST204 for one that the relation does not have. */
export function columnsNamed(relation: Relation, names: readonly string[]): RelationColumn[] {
  return names.map((name) => {
    const column = relation.columns.find((each) => each.name === name)
    if (column !== undefined) return column
    throw new RestError({
      status: 400,
      code: 'PGRST204',
      message: `Could not find the '${name}' column of '${relation.name}' in the schema cache`,
    })
  })
}
