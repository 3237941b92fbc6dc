import { InvalidStepOptionError } from './invalid-step-option-error.ts'
import type { Json } from './json.ts'
import type { RunnerContext, SessionVariables } from './runner-context.ts'
import { forRunners } from './runner-steps.ts'

/** What a step that reads or writes a session asks of its context. */
export type SessionContext = Pick<RunnerContext, 'session'>

interface SessionStepOptions<TSlug extends string, TDep extends string> {
  /** Letters, digits and single underscores; begins with a letter; unique in its flow, whatever the case. */
  readonly slug: TSlug
  /** Steps that must be done first. */
  readonly dependsOn?: readonly TDep[]
  /** The name of the variable. */
  readonly key: string
  /** A session by name, which all runs of the workspace and environment share. Default: the run's own. */
  readonly session?: string
}

/** What `.sessionRead` takes. */
export interface SessionReadOptions<TSlug extends string, TDep extends string>
  extends SessionStepOptions<TSlug, TDep> {}

/** What `.sessionWrite` takes. */
export interface SessionWriteOptions<TSlug extends string, TDep extends string>
  extends SessionStepOptions<TSlug, TDep> {
  /** How long the variable outlives this write, in seconds. Default: it is dropped when the run ends. */
  readonly keepFor?: number
}

export const SESSION_READ_OPTIONS = ['slug', 'dependsOn', 'key', 'session'] as const
export const SESSION_WRITE_OPTIONS = [...SESSION_READ_OPTIONS, 'keepFor'] as const

/** The handler of a step that gives a session variable as its output; null when there is none. */
export function sessionReader(owner: string, { key, session }: RawSessionOptions) {
  const variable = checkText(owner, 'key', key)
  const name = session === undefined ? undefined : checkText(owner, 'session', session)
  return forRunners((_input: unknown, context: SessionContext): Promise<Json> => sessionOf(context, name).get(variable))
}

/** The handler of a step that writes what `value` makes of its input, and gives it as its output. */
export function sessionWriter(owner: string, { key, session, keepFor }: RawSessionOptions, value: unknown) {
  const variable = checkText(owner, 'key', key)
  const name = session === undefined ? undefined : checkText(owner, 'session', session)
  if (keepFor !== undefined && !(typeof keepFor === 'number' && keepFor > 0 && Number.isFinite(keepFor))) {
    throw new InvalidStepOptionError({
      owner,
      option: 'keepFor',
      value: keepFor,
      rule: 'must be a number of seconds above 0',
    })
  }
  if (typeof value !== 'function') {
    throw new InvalidStepOptionError({ owner, option: 'value', value, rule: 'must be a function' })
  }
  return forRunners(async (input: unknown, context: SessionContext): Promise<Json> => {
    const written: Json = await value(input, context)
    const keepUntil = keepFor === undefined ? undefined : new Date(Date.now() + keepFor * 1000)
    await sessionOf(context, name).set(variable, written, { keepUntil })
    return written
  })
}

interface RawSessionOptions {
  readonly key?: unknown
  readonly session?: unknown
  readonly keepFor?: unknown
}

function sessionOf({ session }: SessionContext, name: string | undefined): SessionVariables {
  return name === undefined ? session : session.in(name)
}

function checkText(owner: string, option: 'key' | 'session', value: unknown): string {
  if (typeof value === 'string' && value !== '') return value
  throw new InvalidStepOptionError({ owner, option, value, rule: 'must be a text that is not empty' })
}
