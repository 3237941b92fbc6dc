import { describe, expect, it } from 'vitest'
import { fromSqlError } from './from-sql-error.ts'
import { StarflowError } from './starflow-error.ts'

// What each driver makes of: raise exception using errcode = 'SF201', message = …, detail = …, hint = …
const postgresJs = Object.assign(new Error('Flow "orders" does not exist.'), {
  name: 'PostgresError',
  severity: 'ERROR',
  code: 'SF201',
  detail: 'No worker compiled it.',
  hint: 'Start one of its workers.',
  where: 'PL/pgSQL function pgflow.start_flow',
})
const pg = Object.assign(new Error('Flow "orders" does not exist.'), {
  name: 'error',
  length: 120,
  severity: 'ERROR',
  code: 'SF201',
  detail: 'No worker compiled it.',
  hint: 'Start one of its workers.',
  schema: undefined,
})
const postgrest = {
  code: 'SF201',
  message: 'Flow "orders" does not exist.',
  details: 'No worker compiled it.',
  hint: 'Start one of its workers.',
}

describe('fromSqlError', () => {
  it.each([
    ['postgres.js', postgresJs],
    ['pg', pg],
    ['PostgREST', postgrest],
  ])('all four parts arrive from %s, and the original is the cause', (_, sqlError) => {
    const error = fromSqlError(sqlError)
    expect(error).toBeInstanceOf(StarflowError)
    expect(error).toMatchObject({
      code: 'SF201',
      name: 'FlowNotFoundError',
      message: 'Flow "orders" does not exist.',
      detail: 'No worker compiled it.',
      hint: 'Start one of its workers.',
      fields: { sqlState: 'SF201' },
    })
    expect(error?.cause).toBe(sqlError)
  })

  it('empty and absent parts are left out', () => {
    const error = fromSqlError({ ...postgrest, details: null, hint: '' })
    expect(error).not.toHaveProperty('detail')
    expect(error).not.toHaveProperty('hint')
  })

  it('a StarflowError passes through', () => {
    const error = new StarflowError({ code: 'SF201', message: 'x' })
    expect(fromSqlError(error)).toBe(error)
  })

  it.each([
    ['P0001', 'queue name is too long, maximum length is 47 characters', 'SF101'],
    ['P0001', 'Map step "m" can have at most one dependency, but 2 were provided: a, b', 'SF112'],
    ['P0001', 'Flow orders has root map steps but input is NULL', 'SF203'],
    ['P0001', 'Flow orders has root map steps but input is not an array (got object)', 'SF203'],
    ['23514', 'new row for relation "flows" violates check constraint "slug_is_valid"', 'SF106'],
    ['23514', 'new row for relation "steps" violates check constraint "steps_step_slug_check"', 'SF106'],
    [
      '23503',
      'insert or update on table "deps" violates foreign key constraint "deps_flow_slug_dep_slug_fkey"',
      'SF112',
    ],
    ['23514', 'new row for relation "deps" violates check constraint "deps_check"', 'SF112'],
    ['23503', 'insert or update on table "steps" violates foreign key constraint "steps_flow_slug_fkey"', 'SF201'],
    ['23514', 'new row for relation "steps" violates check constraint "when_unmet_is_valid"', 'SF113'],
    ['23514', 'new row for relation "steps" violates check constraint "required_input_pattern_is_object"', 'SF113'],
    ['23514', 'new row for relation "steps" violates check constraint "opt_start_delay_is_nonnegative"', 'SF113'],
    ['23514', 'new row for relation "steps" violates check constraint "steps_step_type_check"', 'SF113'],
  ])('a message of the released interface has a code: %s %s', (code, message, expected) => {
    expect(fromSqlError({ code, message })).toMatchObject({ code: expected, message, fields: { sqlState: code } })
  })

  it.each([
    undefined,
    null,
    'SF201',
    new Error('connect ECONNREFUSED'),
    { code: 'ECONNREFUSED', message: 'connect ECONNREFUSED' },
    { code: '23505', message: 'duplicate key value violates unique constraint "runs_pkey"' },
    { code: '23514', message: 'new row for relation "orders" violates check constraint "price_is_positive"' },
    { code: 'P0001', message: 'a message of the application' },
    { code: 'SF201' },
    { message: 'x' },
  ])('what is not ours is undefined: %j', (value) => {
    expect(fromSqlError(value)).toBeUndefined()
  })
})
