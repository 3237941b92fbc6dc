/**
 * Changes the SQL core and the workers in one place at a time, and looks whether a test fails: `npm run mutants`. The checkout
 * is not touched: tests are given the changed file by the environment (mutants/mutant-in-place.ts). A worker that a test starts as a
 * process loads the file as it stands, so a change of it may survive that only such a test would notice.
 */
import { spawn } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { randomFrom } from '../tests/support/random.ts'
import { MUTANT_VARIABLE } from './mutants/mutant-in-place.ts'
import { type Mutant, mutantsOf } from './mutants/mutations.ts'
import { ROOT } from './repository.ts'

const HELP = `npm run mutants -- [options]

Changes the SQL core and the workers in one place at a time, and looks whether a test fails.
Ends with exit code 1 when more than 5 % survive that scripts/mutants/accepted.json does not name.

  --sample <n>   how many changes are tried (default 20)
  --all          all of them: some days
  --seed <n>     which ones (default: the day); the same seed tries the same ones
  --file <part>  only files whose path has this in it
  --json         print one JSON object
  --help`

const FOLDERS = ['packages/core/schemas', 'packages/edge-worker/src']
const LEFT_OUT = /00_upgrade|95_upgrade|90_access|\/0[01]_|\.test|index\.ts|platforms\/|events\.ts/
const SURVIVORS_ALLOWED = 0.05
const DAY_MS = 86_400_000
const LIMIT_MS = 600_000

/** The tests that can see a change, the likeliest first: vitest runs what failed lately before the rest. */
const TESTS = { sql: ['packages/core/tests'], ts: ['packages/edge-worker/src', 'packages/edge-worker/tests'] } as const

interface Accepted {
  readonly file: string
  readonly before: string
  readonly after: string
  readonly reason: string
}

const { values: options } = parseArgs({
  options: {
    ...{ sample: { type: 'string', default: '20' }, all: { type: 'boolean', default: false } },
    ...{ seed: { type: 'string' }, file: { type: 'string', default: '' } },
    ...{ json: { type: 'boolean', default: false }, help: { type: 'boolean', default: false } },
  },
})

if (options.help) console.log(HELP)
else {
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(130))
  process.exitCode = await main()
}

async function main(): Promise<number> {
  const sample = wholeNumber('sample', options.sample)
  const seed = options.seed === undefined ? Math.floor(Date.now() / DAY_MS) : wholeNumber('seed', options.seed)
  const accepted = JSON.parse(readFileSync(join(ROOT, 'scripts/mutants/accepted.json'), 'utf8')) as Accepted[]
  const isAccepted = ({ file, before, after }: Mutant) =>
    accepted.some((each) => each.file === file && each.before === before && each.after === after)
  const all = sourceFiles()
    .filter((file) => file.includes(options.file))
    .flatMap((file) => mutantsOf(file, readFileSync(join(ROOT, file), 'utf8')))
  const tried = options.all ? all : shuffled(all, seed).slice(0, sample)
  const say = (text: string) => options.json || console.log(text)
  say(`${tried.length} of ${all.length} changes, seed ${seed}.`)

  const survivors: Mutant[] = []
  const folder = mkdtempSync(join(tmpdir(), 'starflow-mutants-'))
  try {
    for (const [index, mutant] of tried.entries()) {
      const started = Date.now()
      const isKilled = await killsSomething(mutant, folder)
      if (!isKilled) survivors.push(mutant)
      const outcome = isKilled ? 'killed' : isAccepted(mutant) ? 'survives, accepted' : 'SURVIVES'
      say(
        `${index + 1}/${tried.length} ${outcome} in ${Math.round((Date.now() - started) / 1000)} s  ${mutant.file}:${mutant.line}`,
      )
      if (!isKilled) say(`    - ${mutant.before}\n    + ${mutant.after}`)
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
  const unaccepted = survivors.filter((mutant) => !isAccepted(mutant))
  const share = tried.length === 0 ? 0 : unaccepted.length / tried.length
  if (options.json)
    console.log(JSON.stringify({ seed, tried: tried.length, survivors: survivors.map(withoutText), share }))
  say(
    `${tried.length - survivors.length} killed, ${survivors.length} survive, of which ${survivors.length - unaccepted.length} are accepted.`,
  )
  return share > SURVIVORS_ALLOWED ? 1 : 0
}

/** Whether a test fails, or waits for ever: the tests of the core take two minutes. */
function killsSomething(mutant: Mutant, folder: string): Promise<boolean> {
  const changed = join(folder, 'mutant.json')
  writeFileSync(changed, JSON.stringify({ file: mutant.file, text: mutant.text }))
  const tests = TESTS[mutant.file.endsWith('.sql') ? 'sql' : 'ts']
  const args = ['vitest', 'run', '--typecheck.enabled=false', '--bail=1', '--testTimeout=60000', ...tests]
  const child = spawn('npx', args, {
    cwd: ROOT,
    env: { ...process.env, [MUTANT_VARIABLE]: changed },
    stdio: 'ignore',
    // With a group of its own, so that all of it can be ended.
    detached: true,
  })
  return new Promise((resolve, reject) => {
    const end = () => process.kill(-child.pid!, 'SIGKILL')
    let isOverdue = false
    const overdue = setTimeout(() => {
      isOverdue = true
      end()
    }, LIMIT_MS)
    process.once('exit', end)
    child.once('error', reject)
    child.once('exit', (code, signal) => {
      clearTimeout(overdue)
      process.off('exit', end)
      if (signal === null || isOverdue) resolve(code !== 0)
      else reject(new Error(`vitest was ended by ${signal}.`))
    })
  })
}

function sourceFiles(): string[] {
  return FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' }).map((path) => join(folder, path)),
  )
    .filter((path) => /\.(sql|ts)$/.test(path) && !LEFT_OUT.test(path))
    .sort()
}

/** Fisher and Yates: the same order for the same seed everywhere. */
function shuffled<T>(items: readonly T[], seed: number): T[] {
  const mixed = [...items]
  const random = randomFrom(seed)
  for (let last = mixed.length - 1; last > 0; last--) {
    const other = Math.floor(random() * (last + 1))
    ;[mixed[last], mixed[other]] = [mixed[other]!, mixed[last]!]
  }
  return mixed
}

function withoutText({ file, line, before, after }: Mutant) {
  return { file, line, before, after }
}

function wholeNumber(name: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text)
  console.error(`--${name} is a whole number, not "${text}".\n\n${HELP}`)
  process.exit(2)
}
