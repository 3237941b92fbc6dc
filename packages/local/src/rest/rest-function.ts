import type { PoolClient } from 'pg'
import { RestError } from './rest-error.ts'

/** A function that may be called, as the catalog knows it. */
export interface RestFunction {
  readonly schema: string
  readonly name: string
  readonly parameters: readonly FunctionParameter[]
  readonly returns: 'void' | 'scalar' | 'row'
  readonly returnsSet: boolean
  /** False for one that may write. */
  readonly isReadOnly: boolean
}

export interface FunctionParameter {
  /** Empty where it has none. */
  readonly name: string
  readonly type: string
  readonly isRequired: boolean
  readonly isVariadic: boolean
}

const FIND_FUNCTIONS = `
  select
    n.nspname as schema,
    p.proname as name,
    case
      when p.prorettype = 'void'::regtype then 'void'
      when t.typtype = 'c' or b.typtype = 'c' or coalesce(p.proargmodes::text[] && '{t,b,o}', false) then 'row'
      else 'scalar'
    end as returns,
    p.proretset as "returnsSet",
    p.provolatile <> 'v' as "isReadOnly",
    (select coalesce(json_agg(json_build_object(
         'name', coalesce(i.name, ''),
         'type', format_type(i.type, -1),
         'isRequired', i.place <= p.pronargs - p.pronargdefaults,
         'isVariadic', i.mode = 'v') order by i.place), '[]')
     from (
       select a.type, a.name, coalesce(a.mode, 'i') as mode, row_number() over (order by a.place) as place
       from unnest(
         coalesce(p.proallargtypes, p.proargtypes::oid[]), p.proargnames, p.proargmodes::text[]
       ) with ordinality as a (type, name, mode, place)
       where coalesce(a.mode, 'i') in ('i', 'b', 'v')) as i) as parameters
  from pg_proc p
  join pg_namespace n on n.oid = p.pronamespace
  join pg_type t on t.oid = p.prorettype
  left join pg_type b on b.oid = t.typbasetype
  where n.nspname = $1::text and p.proname = $2::text and p.prokind = 'f'`

/** All functions of that name. */
export async function findFunctions(client: PoolClient, schema: string, name: string): Promise<RestFunction[]> {
  const { rows } = await client.query<RestFunction>(FIND_FUNCTIONS, [schema, name])
  return rows
}

/**
 * The one function that takes these arguments, by their names. `takesBody`: a single unnamed JSON parameter takes a whole
 * body, where no named one fits. Throws PGRST202 where none fits and PGRST203 where several do.
 */
export function chooseFunction(
  functions: readonly RestFunction[],
  { schema, name, keys, takesBody }: { schema: string; name: string; keys: readonly string[]; takesBody: boolean },
): RestFunction {
  const named = functions.filter(({ parameters }) => fits(parameters, keys))
  const fitting = named.length === 0 && takesBody ? functions.filter(({ parameters }) => isBody(parameters)) : named
  const [found, ...others] = fitting
  if (found === undefined) throw notFound(schema, name, keys)
  if (others.length > 0) throw ambiguous(fitting)
  return found
}

/** True for a function whose one parameter has no name and takes JSON. */
export function isBody(parameters: readonly FunctionParameter[]): boolean {
  const [only, ...more] = parameters
  return only !== undefined && more.length === 0 && only.name === '' && ['json', 'jsonb'].includes(only.type)
}

function fits(parameters: readonly FunctionParameter[], keys: readonly string[]): boolean {
  if (parameters.some(({ name, isRequired }) => name === '' && isRequired)) return false
  const isKnown = keys.every((key) => parameters.some(({ name }) => name === key))
  return isKnown && parameters.every(({ name, isRequired }) => !isRequired || keys.includes(name))
}

function notFound(schema: string, name: string, keys: readonly string[]): RestError {
  const sorted = keys.toSorted()
  const [signature, searched] =
    sorted.length === 0
      ? [`${schema}.${name} without parameters`, 'without parameters']
      : [
          `${schema}.${name}(${sorted.join(', ')})`,
          `with parameter${sorted.length > 1 ? 's' : ''} ${sorted.join(', ')}`,
        ]
  return new RestError({
    status: 404,
    code: 'PGRST202',
    message: `Could not find the function ${signature} in the schema cache`,
    details: `Searched for the function ${schema}.${name} ${searched} or with a single unnamed json/jsonb parameter, but no matches were found in the schema cache.`,
  })
}

function ambiguous(functions: readonly RestFunction[]): RestError {
  const signatures = functions.map(({ schema, name, parameters }) => {
    return `${schema}.${name}(${parameters.map((each) => `${each.name} => ${each.type}`).join(', ')})`
  })
  return new RestError({
    status: 300,
    code: 'PGRST203',
    message: `Could not choose the best candidate function between: ${signatures.join(', ')}`,
    hint: 'Try renaming the parameters or the function itself in the database so function overloading can be resolved',
  })
}
