import type { Json, JsonObject } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'
import {
  type Placement,
  placementOfToken,
  type ResumedWait,
  type RunDetail,
  type StepView,
} from '@starflow/server/runs'
import type { Command } from 'commander'
import type { DatabaseOptions } from '../database/open-database.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { textTable } from '../output/text-table.ts'
import { type AllRuns, ofRun, scopeOf, withAllRuns, withRunOptions } from './all-runs.ts'
import { readJsonArgument } from './json-argument.ts'
import { nameArgument } from './name-argument.ts'
import { pageSize } from './page-size.ts'
import { checkRunId } from './run-id-argument.ts'

interface ListOptions extends DatabaseOptions {
  readonly workspace?: string
  readonly limit: string
  readonly json?: boolean
}

interface AnswerOptions extends DatabaseOptions {
  readonly payload?: string
  readonly json?: boolean
}

/** Adds `starflow waits …`. */
export function addWaitsCommands(program: Command, outputFor: OutputFor): void {
  const waits = program
    .command('waits')
    .description('The waits of runs, wherever they execute: what somebody has to decide.')
  withRunOptions(
    waits
      .command('list')
      .description('List the waits that stand open, the oldest first.')
      .option('--workspace <name>', 'of this workspace only (default: of all)', nameArgument('--workspace'))
      .option('--limit <waits>', 'how many at most', '20'),
  ).action((options: ListOptions) => list(options, outputFor(options)))
  for (const [name, approved] of [
    ['approve', true],
    ['reject', false],
  ] as const) {
    answerCommand(waits, name, `Resume a wait with { "approved": ${approved} }, and what --payload adds.`)
      .option('--payload <json>', 'more members of that object: JSON, @file, or - for standard input')
      .action((runId: string, step: string | undefined, options: AnswerOptions) =>
        answer(runId, step, () => verdict(approved, options.payload), options, outputFor(options)),
      )
  }
  answerCommand(
    waits,
    'resume',
    'Resume a wait with any payload; by its run, or with the token that was issued for it.',
  )
    .option('--payload <json>', 'the output of the wait: JSON, @file, or - for standard input (default: null)')
    .action((run: string, step: string | undefined, options: AnswerOptions) =>
      answer(run, step, () => payloadOf(options.payload) ?? null, options, outputFor(options)),
    )
}

function answerCommand(waits: Command, name: string, description: string): Command {
  return withRunOptions(
    waits
      .command(name)
      .description(description)
      .argument('<run>', 'the id of the run, or a token')
      .argument('[step]', 'the slug of the wait (default: the one that stands open)'),
  )
}

async function list(options: ListOptions, output: Output): Promise<void> {
  const limit = pageSize(options.limit)
  const { waits, gap } = await withAllRuns(options, async ({ runs, gap }) => ({
    waits: await runs.openWaits(scopeOf(options.workspace), limit),
    gap,
  }))
  output.result({ waits })
  if (gap !== undefined) output.problem(gap)
  if (waits.length === 0) return output.line('Nothing waits.')
  const columns = ['run', 'flow', 'wait', 'placement', 'open since', 'until'].map((title) => ({ title }))
  const rows = waits.map(({ runId, flow, step, placement, openedAt, dueAt }) => [
    ...[runId, flow, step, placement, openedAt, dueAt ?? ''],
  ])
  for (const line of textTable(columns, rows)) output.line(line)
}

async function answer(
  runOrToken: string,
  step: string | undefined,
  readPayload: () => Json,
  options: AnswerOptions,
  output: Output,
): Promise<void> {
  const payload = readPayload()
  const isToken = runOrToken.startsWith('sfw1.')
  const resume = async (all: AllRuns): Promise<ResumedWait & { readonly placement: Placement }> => {
    if (isToken) {
      if (placementOfToken(runOrToken) !== 'queue' && all.store.waitTokenKey() === undefined) throw noKey()
      const resumed = await all.runs.resumeWithToken(runOrToken, payload)
      const { placement } = await ofRun(all, resumed.runId, () => all.runs.read('every', resumed.runId))
      return { ...resumed, placement }
    }
    const runId = checkRunId(runOrToken)
    const run = await ofRun(all, runId, () => all.runs.read('every', runId))
    const wait = waitOf(run, step)
    return {
      runId,
      step: wait,
      placement: run.placement,
      ...(await all.runs.resumeWait('every', runId, wait, payload)),
    }
  }
  const { runId, placement, outcome, step: wait } = await withAllRuns(options, resume, { tokens: isToken })
  if (outcome !== 'accepted' && outcome !== 'early') throw refused(runId, wait, outcome)
  output.result({ runId, placement, step: wait, outcome })
  output.line(`${wait} of run ${runId} is resumed.`)
  if (placement === 'queue') return output.line(`Its workers go on with it: npx starflow runs watch ${runId}`)
  output.line(`A runner goes on with it: npx starflow runner. Or here: npx starflow run --resume ${runId}`)
}

/** The one that is named, or the one that stands open. @throws StarflowError SF209 */
function waitOf(run: RunDetail, step: string | undefined): string {
  const waits = run.steps.filter(({ type }) => type === 'wait')
  const found = waits.filter((wait) => (step === undefined ? wait.status === 'waiting' : wait.step === step))
  const [wait] = found
  if (wait !== undefined && found.length === 1) return wait.step
  throw noSuchWait(run, step, waits)
}

function noKey(): StarflowError {
  return new StarflowError({
    code: 'SF206',
    message: 'There is no key to check this token with.',
    detail: 'STARFLOW_WAIT_TOKEN_SECRET is not set.',
    hint: 'Set it to the secret that the runners have, or name the run by its id.',
  })
}

function verdict(approved: boolean, argument: string | undefined): JsonObject {
  const more = payloadOf(argument) ?? {}
  if (isObject(more)) return { ...more, approved }
  throw new StarflowError({
    code: 'SF610',
    message: '--payload is no JSON object.',
    detail: 'Its members are added to { "approved": … }.',
    hint: 'Give an object, or use: npx starflow waits resume',
  })
}

function isObject(value: Json): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

function payloadOf(argument: string | undefined): Json | undefined {
  return argument === undefined ? undefined : readJsonArgument('--payload', argument)
}

function noSuchWait({ runId, status }: RunDetail, step: string | undefined, waits: readonly StepView[]): StarflowError {
  const known = waits.map((wait) => `${wait.step} (${WAIT_WORDS[wait.status]})`)
  return new StarflowError({
    code: 'SF209',
    message:
      step === undefined
        ? `Run ${runId} has ${waits.some((wait) => wait.status === 'waiting') ? 'not one open wait' : 'no open wait'}.`
        : `There is no wait "${step}" in run ${runId}.`,
    detail: `The run is ${status}. Its waits: ${known.join(', ') || 'none'}.`,
    hint: known.length === 0 ? 'See what waits: npx starflow waits list' : 'Name one that is open after the run.',
    fields: { runId },
  })
}

const WAIT_WORDS: Readonly<Record<StepView['status'], string>> = {
  ...{ created: 'not open yet', started: 'over', waiting: 'open', completed: 'over', failed: 'timed out' },
  skipped: 'skipped',
}

const REASONS: Readonly<Record<Exclude<ResumedWait['outcome'], 'accepted' | 'early'>, string>> = {
  already_resumed: 'somebody has resumed it before',
  timed_out: 'its time is over',
  run_ended: 'its run has ended',
  skipped: 'its step is skipped',
}

function refused(runId: string, step: string, outcome: keyof typeof REASONS): StarflowError {
  return new StarflowError({
    code: 'SF643',
    message: `Wait "${step}" of run ${runId} is not open: ${REASONS[outcome]}.`,
    detail: 'A wait is ended once. This payload was not taken.',
    hint: `See the run: npx starflow runs show ${runId}`,
    fields: { runId, stepSlug: step, outcome },
  })
}
