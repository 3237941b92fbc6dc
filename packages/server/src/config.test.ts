import { isStarflowError, type StarflowError } from '@starflow/errors'
import { describe, expect, it } from 'vitest'
import { readConfig } from './config.ts'

const TOKEN = 'a-token-of-an-operator'
const supabase = { SUPABASE_URL: 'https://project.supabase.co', SUPABASE_SERVICE_ROLE_KEY: 'key' }

function problemsOf(env: Record<string, string>): readonly string[] {
  try {
    readConfig(env)
  } catch (error) {
    if (isStarflowError(error, 'SF901')) return (error as StarflowError).fields.problems as readonly string[]
    throw error
  }
  return []
}

describe('the configuration', () => {
  it('needs nothing but the token of an operator', () => {
    expect(readConfig({ STARFLOW_API_TOKEN: TOKEN })).toEqual({
      role: 'both',
      host: '127.0.0.1',
      port: 8787,
      drainTimeoutMs: 300_000,
      drainNoticeMs: 0,
      apiToken: TOKEN,
      defaultWorkspace: 'celestial',
      waitTokenKeys: [],
      storage: { substrate: 'sqlite', path: '.starflow/runs.db' },
      heartbeatWorkspace: 'celestial',
      serviceId: 'starflow.server.api',
      runnerPool: undefined,
      concurrency: undefined,
      declarationsFile: undefined,
      trustedProxies: 0,
      dashboardDir: undefined,
      isMirrored: false,
      mirrorAlertUrl: undefined,
      logLevel: 'info',
    })
  })

  it('takes every variable', () => {
    const config = readConfig({
      ...supabase,
      STARFLOW_ROLE: 'runner',
      STARFLOW_HOST: '0.0.0.0',
      STARFLOW_PORT: '0',
      STARFLOW_DRAIN_TIMEOUT_MS: '1000',
      STARFLOW_DEFAULT_WORKSPACE: 'shop',
      STARFLOW_WAIT_TOKEN_SECRET: 's'.repeat(32),
      STARFLOW_WAIT_TOKEN_KID: 'second',
      STARFLOW_WAIT_TOKEN_OLD_SECRETS: JSON.stringify({ first: 'o'.repeat(32) }),
      STARFLOW_QUEUE_SUBSTRATE: 'supabase',
      SUPABASE_DB_URL: 'postgresql://postgres:x@db:5432/postgres',
      MESH_WORKSPACE: 'mesh',
      STARFLOW_SERVICE_ID: 'runner-1',
      STARFLOW_RUNNER_POOL: 'gpu',
      STARFLOW_RUNNER_CONCURRENCY: '3',
      STARFLOW_TRUSTED_PROXIES: '1',
      STARFLOW_DASHBOARD_DIR: 'dist',
      STARFLOW_LOG_LEVEL: 'debug',
      STARFLOW_METRICS_TOKEN: 'the-token-that-reads-metrics',
      STARFLOW_CONFIG_FILE: 'triggers.yaml',
      STARFLOW_MIRROR: 'on',
      STARFLOW_MIRROR_ALERT_URL: 'https://pager.example/lag',
    })
    // Those of another role or store.
    const edge = { ...supabase, STARFLOW_ROLE: 'edge', STARFLOW_API_TOKEN: TOKEN, STARFLOW_DRAIN_NOTICE_MS: '700' }
    expect(readConfig(edge)).toMatchObject({ drainNoticeMs: 700, apiToken: TOKEN })
    expect(readConfig({ STARFLOW_API_TOKEN: TOKEN, STARFLOW_SQLITE_PATH: 'kept.db' })).toMatchObject({
      storage: { substrate: 'sqlite', path: 'kept.db' },
    })
    expect(config).toMatchObject({
      ...{ metricsToken: 'the-token-that-reads-metrics', declarationsFile: 'triggers.yaml', isMirrored: true },
      mirrorAlertUrl: 'https://pager.example/lag',
      ...{ role: 'runner', host: '0.0.0.0', port: 0, drainTimeoutMs: 1000, defaultWorkspace: 'shop' },
      ...{ heartbeatWorkspace: 'mesh', serviceId: 'runner-1', runnerPool: 'gpu', concurrency: 3, trustedProxies: 1 },
      ...{ dashboardDir: 'dist', logLevel: 'debug', apiToken: undefined },
      storage: { substrate: 'supabase', url: supabase.SUPABASE_URL, key: 'key', databaseUrl: expect.any(String) },
      waitTokenKeys: [
        { kid: 'second', secret: 's'.repeat(32) },
        { kid: 'first', secret: 'o'.repeat(32) },
      ],
    })
  })

  it('counts an empty variable as unset', () => {
    expect(readConfig({ STARFLOW_API_TOKEN: TOKEN, STARFLOW_ROLE: '', STARFLOW_PORT: ' ' })).toMatchObject({
      role: 'both',
      port: 8787,
    })
  })

  it('is refused with every problem at once', () => {
    expect(
      problemsOf({
        STARFLOW_ROLE: 'server',
        STARFLOW_PORT: '70000',
        SUPABASE_URL: 'https://x',
        STARFLOW_RUNNER_POOL: 'a b',
      }),
    ).toEqual([
      'STARFLOW_ROLE must be one of edge, runner, both.',
      'STARFLOW_PORT must be from 0 to 65535.',
      expect.stringContaining('STARFLOW_RUNNER_POOL must be'),
      expect.stringContaining('SUPABASE_URL is set'),
      expect.stringContaining('STARFLOW_API_TOKEN is required'),
    ])
  })

  it.each([
    ['the token of an API that is served', {}, 'STARFLOW_API_TOKEN is required'],
    ['a token that can be guessed', { STARFLOW_API_TOKEN: 'short' }, 'STARFLOW_API_TOKEN must have at least 16'],
    ['an edge on SQLite', { STARFLOW_API_TOKEN: TOKEN, STARFLOW_ROLE: 'edge' }, 'does not go with SQLite'],
    ['a runner on SQLite', { STARFLOW_ROLE: 'runner' }, 'does not go with SQLite'],
    [
      'a runner that forces SQLite',
      { ...supabase, STARFLOW_ROLE: 'runner', STARFLOW_QUEUE_SUBSTRATE: 'sqlite' },
      'does not go with SQLite',
    ],
    ['a URL without a key', { STARFLOW_API_TOKEN: TOKEN, SUPABASE_URL: 'https://x' }, 'SUPABASE_URL is set'],
    ['a key without a URL', { STARFLOW_API_TOKEN: TOKEN, SUPABASE_SERVICE_ROLE_KEY: 'k' }, 'SUPABASE_URL is not'],
    [
      'a database without its API',
      { STARFLOW_API_TOKEN: TOKEN, SUPABASE_DB_URL: 'postgresql://db/x' },
      'SUPABASE_DB_URL is set without SUPABASE_URL',
    ],
    ['a substrate that is reserved', { STARFLOW_API_TOKEN: TOKEN, STARFLOW_QUEUE_SUBSTRATE: 'spacetime' }, 'reserved'],
    ['a weak secret', { STARFLOW_API_TOKEN: TOKEN, STARFLOW_WAIT_TOKEN_SECRET: 'short' }, 'at least 32 characters'],
    [
      'old secrets that are no JSON',
      { STARFLOW_API_TOKEN: TOKEN, STARFLOW_WAIT_TOKEN_OLD_SECRETS: '{' },
      'OLD_SECRETS must be a JSON object of secrets by their names.',
    ],
  ])('refuses %s', (_, env, problem) => {
    expect(problemsOf(env)).toEqual([expect.stringContaining(problem)])
  })

  it('repeats no value of a variable: it may be a secret', () => {
    const secrets = {
      STARFLOW_API_TOKEN: 'guessme',
      SUPABASE_DB_URL: 'mysql://u:hunter2@x',
      STARFLOW_WAIT_TOKEN_SECRET: 'tiny',
    }
    const text = problemsOf(secrets).join('\n')
    expect(text).toContain('SUPABASE_DB_URL must be')
    for (const value of ['guessme', 'hunter2', 'tiny']) expect(text).not.toContain(value)
  })
})
