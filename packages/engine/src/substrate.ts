import { StarflowError } from '@starflow/errors'

/** Where runs are queued and kept, as the environment says it. Whoever composes a program opens the adapter for it. */
export type Substrate =
  | { readonly kind: 'supabase'; readonly url: string; readonly key: string }
  | { readonly kind: 'sqlite'; readonly path: string }

/** What is read of the environment. Empty counts as unset; of several names the first that is set counts. */
export const SUBSTRATE_VARIABLES = {
  choice: ['STARFLOW_QUEUE_SUBSTRATE'],
  supabaseUrl: ['SUPABASE_URL'],
  supabaseKey: ['SUPABASE_SERVICE_ROLE_KEY', 'SUPABASE_SECRET_KEY'],
  sqlitePath: ['STARFLOW_SQLITE_PATH'],
} as const

/** Where runs are kept on a laptop: from the folder that the program was started in. */
export const DEFAULT_SQLITE_PATH = '.starflow/runs.db'

const CHOICES = ['auto', 'supabase', 'sqlite', 'spacetime'] as const
type Choice = (typeof CHOICES)[number]

type Env = Readonly<Record<string, string | undefined>>

/**
 * The substrate that the environment asks for, or all that keeps it from being chosen, for a program that tells its other
 * problems with them. Opens nothing.
 */
export function chooseSubstrate(
  env: Env,
): { readonly substrate: Substrate } | { readonly problems: readonly string[] } {
  const url = first(env, 'supabaseUrl')
  const key = first(env, 'supabaseKey')
  const asked = first(env, 'choice') ?? 'auto'
  const choice = CHOICES.find((each) => each === asked)
  const problems = [
    ...choiceProblems(asked, choice),
    // Also where SQLite is forced: half a pair is a mistake that shows as soon as the choice changes.
    ...pairProblems(url, key),
    ...(choice === 'supabase' && url === undefined && key === undefined
      ? [`STARFLOW_QUEUE_SUBSTRATE is "supabase", and ${URL_NAME} and ${KEY_NAMES} are not set.`]
      : []),
    ...(url !== undefined && !isHttpUrl(url) ? [`${URL_NAME} is no URL that begins with http:// or https://.`] : []),
  ]
  if (problems.length > 0) return { problems }
  if (choice !== 'sqlite' && url !== undefined && key !== undefined)
    return { substrate: { kind: 'supabase', url, key } }
  return { substrate: { kind: 'sqlite', path: first(env, 'sqlitePath') ?? DEFAULT_SQLITE_PATH } }
}

/**
 * The substrate that the environment asks for.
 *
 * @throws StarflowError SF822 with all that is wrong
 */
export function requireSubstrate(env: Env): Substrate {
  const chosen = chooseSubstrate(env)
  if ('substrate' in chosen) return chosen.substrate
  const { problems } = chosen
  throw new StarflowError({
    code: 'SF822',
    message: `The place where runs are kept cannot be chosen: ${problems.length} problem${problems.length === 1 ? '' : 's'}.`,
    detail: problems.join(' '),
    hint: 'Mend what the detail lists, or leave it all unset to keep runs in a file.',
    fields: { problems },
  })
}

function choiceProblems(asked: string, choice: Choice | undefined): string[] {
  if (choice === undefined) {
    return [`STARFLOW_QUEUE_SUBSTRATE is ${JSON.stringify(asked)}; it may be auto, supabase or sqlite.`]
  }
  if (choice === 'spacetime') {
    return [
      'STARFLOW_QUEUE_SUBSTRATE is "spacetime", which is reserved: there is no adapter for SpacetimeDB yet. Use supabase for several machines, ' +
        'sqlite for one, or auto.',
    ]
  }
  return []
}

function pairProblems(url: string | undefined, key: string | undefined): string[] {
  if (url !== undefined && key === undefined) return [`${URL_NAME} is set, and its key (${KEY_NAMES}) is not.`]
  if (url === undefined && key !== undefined) return [`A key (${KEY_NAMES}) is set, and ${URL_NAME} is not.`]
  return []
}

const URL_NAME = SUBSTRATE_VARIABLES.supabaseUrl[0]
const KEY_NAMES = SUBSTRATE_VARIABLES.supabaseKey.join(' or ')

function isHttpUrl(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function first(env: Env, key: keyof typeof SUBSTRATE_VARIABLES): string | undefined {
  return SUBSTRATE_VARIABLES[key].map((name) => env[name]?.trim()).find((value) => value !== undefined && value !== '')
}
