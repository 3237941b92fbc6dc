/** The page of the variables that workers and servers read. Of a worker's, the first that is set counts. */
export function environmentReference(
  variables: Readonly<Record<string, readonly string[]>>,
  server: Readonly<Record<string, { readonly default: string; readonly meaning: string }>>,
): string {
  const keys = Object.keys(MEANINGS)
  const nameless = Object.keys(variables).find((key) => !keys.includes(key))
  if (nameless !== undefined) throw new Error(`${nameless} has no meaning in environment-reference.ts.`)
  const rows = keys.flatMap((key) => {
    const names = variables[key] ?? []
    return names.length === 0 ? [] : [`| ${names.map((name) => `\`${name}\``).join(', ')} | ${MEANINGS[key]} |`]
  })
  const serverRows = Object.entries(server).map(([name, each]) => `| \`${name}\` | ${each.default} | ${each.meaning} |`)
  return [
    `${HEAD}\n${tableOf(rows)}`,
    `## What the host of a worker may set\n\n${tableOf(HOST)}`,
    `## Where runs are kept\n\n${RUNS}\n${tableOf(SUBSTRATE)}`,
    `${SERVER}\n| variable | default | what it is |\n|---|---|---|\n${serverRows.join('\n')}\n`,
  ].join('\n')
}

function tableOf(rows: readonly string[]): string {
  return `| variable | what it is |\n|---|---|\n${rows.join('\n')}\n`
}

const HEAD = `# Environment

An empty variable counts as unset, for workers and servers alike.

## Of a worker

Where several are named, the first one that is set counts. What is missing is told all at once
([SF002](../errors/SF002.md)). Supabase sets those that begin with \`SUPABASE_\` and \`SB_\`. This page is written by \`npm run build:docs\` from
\`packages/edge-worker/src/worker-environment.ts\`.
`

const SERVER = `## Of a server

Read by \`starflow server\`, from \`packages/server/src/config.ts\`. What is wrong is told all at once ([SF901](../errors/SF901.md)), before a
port or a connection is opened. [Running the server](../operations/server.md) says how they go together. The variables of OpenTelemetry
are in [Traces](../operations/tracing.md).
`

const MEANINGS: Readonly<Record<string, string>> = {
  databaseUrl: 'the database',
  dedicatedSecret: 'what a request must carry, as bearer token or `apikey`; where it is set, nothing else authorises',
  serviceRoleKey: 'authorises requests without a dedicated secret, and is the key of `ctx.supabase`',
  secretKeys: 'a JSON object of new secret keys: each authorises requests without a dedicated secret',
  supabaseUrl: 'where `ctx.supabase` goes',
  executionId: 'the isolate in the logs of the host; CPU that is measured from outside is told under it',
  logFormat: '`json` or `plain`; by default `json` where it is hosted',
  logLevel: '`debug`, `info` (the default), `warn` or `error`',
}

/** Read by the platforms, each where it applies. */
const HOST = [
  '| `STARFLOW_WALL_CLOCK_MS` | how long an isolate may live; by default 150000, the wall clock of the smallest plan |',
  '| `STARFLOW_FUNCTION_NAME` | in a process: the name of its row in `worker_functions`; by default that of the script |',
  '| `STARFLOW_DRAIN_TIMEOUT_MS` | in a process: how long started work may go on after the first signal; by default 20000 |',
]

const RUNS = `Read by the commands \`run\`, \`start\`, \`runs\`, \`waits\`, \`runner\`, \`runners\` and \`server\`, and by every program that executes whole runs, at its start; all that is wrong is told at once ([SF822](../errors/SF822.md)).
`

/** What `packages/engine/src/substrate.ts` reads. */
const SUBSTRATE = [
  '| `STARFLOW_QUEUE_SUBSTRATE` | `auto` (the default: Supabase where its URL is set, else SQLite), `supabase` or `sqlite`; `spacetime` is reserved and refused |',
  '| `SUPABASE_URL` | the project whose database keeps runs; goes with its key |',
  '| `SUPABASE_SERVICE_ROLE_KEY`, `SUPABASE_SECRET_KEY` | the key of that project |',
  '| `STARFLOW_SQLITE_PATH` | the file that keeps runs; by default `.starflow/runs.db` |',
  '| `SUPABASE_DB_URL` | the database directly: `runs` and `waits` show step queues from it, handlers get `ctx.sql` |',
  '| `STARFLOW_WAIT_TOKEN_SECRET`, `STARFLOW_WAIT_TOKEN_KID` | what signs the tokens of waits; required on Supabase for flows with a wait |',
]
