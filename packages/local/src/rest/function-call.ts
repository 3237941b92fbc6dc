import type { PoolClient } from 'pg'
import { type PageSource, readPage } from './page-statement.ts'
import { invalidBody, parseJsonBody } from './request-rows.ts'
import { emptyAnswer, type RestAnswer, rowsAnswer, valueAnswer } from './rest-answer.ts'
import { chooseFunction, findFunctions, isBody, type RestFunction } from './rest-function.ts'
import { parseRestQuery } from './rest-query.ts'
import type { RestRequest } from './rest-request.ts'
import { qualifiedName, quoteIdentifier, SqlParameters } from './sql-text.ts'

/** GET, HEAD and POST of `/rpc/<function>`. */
export async function callFunction(
  client: PoolClient,
  request: RestRequest,
  body: string,
  maxRows: number,
): Promise<RestAnswer> {
  const { schema, target, pairs, preferences, mediaType } = request
  const functions = await findFunctions(client, schema, target.name)
  const given = request.method === 'POST' ? fromBody(body) : fromQuery(pairs, functions)
  const found = chooseFunction(functions, { schema, name: target.name, ...given })
  // The method says it already for GET, where a function that writes is refused by Postgres.
  if (found.isReadOnly) await client.query('set transaction read only')

  const parameters = new SqlParameters()
  const call = given.arguments(found, parameters)
  const query = parseRestQuery(given.pairs ?? pairs, request.rangeHeader)
  if (found.returns === 'void' || preferences.return === 'minimal') {
    await client.query(`select ${call.expression}${call.from}`, parameters.values)
    return emptyAnswer(request)
  }
  const page = await readPage(client, sourceOf(found, call), parameters, {
    query,
    mediaType: found.returnsSet ? mediaType : { ...mediaType, shape: 'object' },
    limit: found.returnsSet ? Math.min(query.range.limit ?? maxRows, maxRows) : undefined,
    count: found.returnsSet ? preferences.count : undefined,
  })
  return found.returnsSet ? rowsAnswer(request, page, query.range.offset) : valueAnswer(request, page.body)
}

/** The call as an expression, and what it takes its arguments from. */
interface Call {
  readonly expression: string
  readonly from: string
}

interface GivenArguments {
  readonly keys: readonly string[]
  readonly takesBody: boolean
  /** The pairs of the query that are no arguments; undefined where none is. */
  readonly pairs?: RestRequest['pairs']
  readonly arguments: (found: RestFunction, parameters: SqlParameters) => Call
}

/** Arguments in JSON are read as their parameters' types by Postgres. */
function fromBody(body: string): GivenArguments {
  const value = body.trim() === '' ? {} : parseJsonBody(body)
  const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
  const keys = isObject ? Object.keys(value) : []
  return {
    keys,
    takesBody: true,
    arguments: (found, parameters) => {
      if (isBody(found.parameters)) {
        const whole = `${parameters.bind(body.trim() === '' ? '{}' : body)}::${found.parameters[0]!.type}`
        return { expression: `${nameOf(found)}(${whole})`, from: '' }
      }
      if (!isObject) throw invalidBody('The arguments of a function are an object')
      if (keys.length === 0) return { expression: `${nameOf(found)}()`, from: '' }
      const definitions = keys.map((key) => `${quoteIdentifier(key)} ${parameterOf(found, key).type}`)
      const record = `json_to_record(${parameters.bind(body)}::json) as pgrst_given (${definitions.join(', ')})`
      return {
        expression: callSql(found, keys, (key) => `pgrst_given.${quoteIdentifier(key)}`),
        from: ` from ${record}`,
      }
    },
  }
}

/** Arguments in the query are texts; a variadic parameter takes all of its name. */
function fromQuery(pairs: RestRequest['pairs'], functions: readonly RestFunction[]): GivenArguments {
  const names = new Set(functions.flatMap(({ parameters }) => parameters.map(({ name }) => name)))
  const keys = [...new Set(pairs.map(([key]) => key))].filter((key) => names.has(key))
  return {
    keys,
    takesBody: false,
    pairs: pairs.filter(([key]) => !names.has(key)),
    arguments: (found, parameters) => ({
      expression: callSql(found, keys, (key) => {
        const { type, isVariadic } = parameterOf(found, key)
        const values = pairs.filter(([each]) => each === key).map(([, value]) => value)
        return `${parameters.bind(isVariadic ? values : values.at(-1))}::${type}`
      }),
      from: '',
    }),
  }
}

function callSql(found: RestFunction, keys: readonly string[], argumentOf: (key: string) => string): string {
  const list = keys.map((key) => {
    const variadic = parameterOf(found, key).isVariadic ? 'variadic ' : ''
    return `${variadic}${quoteIdentifier(key)} => ${argumentOf(key)}`
  })
  return `${nameOf(found)}(${list.join(', ')})`
}

function sourceOf(found: RestFunction, { expression, from }: Call): PageSource {
  const given = from === '' ? '' : `${from.slice(' from '.length)}, lateral `
  const rows =
    found.returns === 'scalar' && !found.returnsSet
      ? `(select ${expression} as pgrst_scalar) as pgrst_result`
      : `${expression} as pgrst_result${found.returns === 'scalar' ? ' (pgrst_scalar)' : ''}`
  return {
    with: `pgrst_call as materialized (select pgrst_result.* from ${from === '' ? '' : given}${rows})`,
    from: `pgrst_call as ${quoteIdentifier(found.name)}`,
    // Types of results are not looked up: paths into them convert to jsonb, which changes none that is.
    columns: { alias: found.name, isJson: () => false },
    isScalar: found.returns === 'scalar',
  }
}

function parameterOf({ parameters }: RestFunction, key: string) {
  return parameters.find(({ name }) => name === key)!
}

function nameOf({ schema, name }: RestFunction): string {
  return qualifiedName(schema, name)
}
