/** Writes the generated pages of docs/reference. With `--check` it writes nothing and fails on a difference. */
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { runCommandLine } from '../packages/cli/src/program.ts'
import { ENVIRONMENT_VARIABLES } from '../packages/edge-worker/src/index.ts'
import { ERROR_CODES } from '../packages/errors/src/index.ts'
import { declarationsJsonSchema, describeApi, SERVER_VARIABLES } from '../packages/server/src/index.ts'
import { apiTypes } from './reference/api-types.ts'
import { cliReference } from './reference/cli-reference.ts'
import { configFileReference } from './reference/config-file-reference.ts'
import { environmentReference } from './reference/environment-reference.ts'
import { errorsReference } from './reference/errors-reference.ts'
import { type ApiDescription, httpApiReference } from './reference/http-api-reference.ts'
import { sqlReference } from './reference/sql-reference.ts'
import { typescriptReference } from './reference/typescript-reference.ts'
import { ROOT } from './repository.ts'
import { readSchemaFiles } from './schema-files.ts'

const PURPOSES = {
  dsl: 'Flows and their step queues. Runs in Node, Deno and browsers, and needs nothing but `@starflow/errors`.',
  'edge-worker': 'Workers. Runs in Supabase Edge Functions, Deno, Node and Bun.',
  client:
    'Starts and watches runs, on supabase-js. Runs in browsers, Node and Deno, and needs nothing but `@starflow/errors`.',
  testing: 'Runs flows in memory, for tests. Node only.',
  engine:
    'Whole runs on a runner: the engine and its state port. Its adapters are `@starflow/engine/adapters/local`, `…/supabase` and `…/null`.',
  errors: 'What every package throws.',
  core: 'The typed client of the SQL functions, for workers and servers; `@starflow/core/migrations` has the migrations.',
  local: 'Supabase without Docker. Node only; it knows nothing of flows.',
}

const api = describeApi('0.0.0')

const pages = {
  'sql.md': sqlReference(readSchemaFiles()),
  // A code without a page is told by the tests of the errors package.
  'errors.md': errorsReference(ERROR_CODES, (code) => textOf(join(ROOT, `docs/errors/${code}.md`))),
  'environment.md': environmentReference(ENVIRONMENT_VARIABLES, SERVER_VARIABLES),
  // The cast: the page reads the parts of the description that it shows.
  'http-api.md': httpApiReference(api as unknown as ApiDescription),
  'config-file.md': configFileReference(declarationsJsonSchema()),
  'cli.md': await cliReference(helpOf),
  'typescript.md': typescriptReference(
    Object.entries(PURPOSES).map(([folder, purpose]) => ({
      name: `@starflow/${folder}`,
      purpose,
      readSource: (file) => readFileSync(join(ROOT, 'packages', folder, 'src', file), 'utf8'),
    })),
  ),
}

const files = {
  ...Object.fromEntries(Object.entries(pages).map(([name, text]) => [`docs/reference/${name}`, text])),
  'packages/dashboard/src/api/schema.d.ts': await apiTypes(api),
  // For editors.
  'packages/server/starflow.schema.json': `${JSON.stringify(declarationsJsonSchema(), undefined, 2)}\n`,
}

for (const [name, text] of Object.entries(files)) {
  const file = join(ROOT, name)
  if (textOf(file) === text) continue
  if (process.argv.includes('--check')) {
    console.error(`${name} is not what the sources say. Run: npm run build:docs`)
    process.exitCode = 1
  } else {
    writeFileSync(file, text)
    console.log(`${name} written.`)
  }
}

function textOf(file: string): string {
  return existsSync(file) ? readFileSync(file, 'utf8') : ''
}

async function helpOf(path: readonly string[]): Promise<string> {
  let text = ''
  const stream = {
    write: (chunk: string) => {
      text += chunk
    },
  }
  await runCommandLine([...path, '--help'], { stdout: stream, stderr: stream })
  return text
}
