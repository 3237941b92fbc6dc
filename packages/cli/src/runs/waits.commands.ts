import type { Json, JsonObject } from '@starflow/dsl'
import { type ResumeOutcome, type RunRecord, verifyWaitToken, type WaitRecord } from '@starflow/engine'
import { StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
import type { Output, OutputFor } from '../output/output.ts'
import { textTable } from '../output/text-table.ts'
import { requireRun } from './execute-run.ts'
import { readJsonArgument } from './json-argument.ts'
import { pageSize } from './page-size.ts'
import { checkRunId } from './run-id-argument.ts'
import { type RunStore, withRunStore } from './run-store.ts'

interface AnswerOptions {
  readonly payload?: string
  readonly json?: boolean
}

/** Adds `starflow waits …`. */
export function addWaitsCommands(program: Command, outputFor: OutputFor): void {
  const waits = program
    .command('waits')
    .description('The waits of runs that runners execute: what somebody has to decide.')
  waits
    .command('list')
    .description('List the waits that stand open, the oldest first.')
    .option('--workspace <name>', 'of this workspace only (default: of all)')
    .option('--limit <waits>', 'how many at most', '20')
    .option('--json', 'print one JSON object')
    .action((options: { workspace?: string; limit: string; json?: boolean }) => list(options, outputFor(options)))
  for (const [name, approved] of [
    ['approve', true],
    ['reject', false],
  ] as const) {
    answerCommand(waits, name, `Resume a wait with { "approved": ${approved} }, and what --payload adds.`)
      .option('--payload <json>', 'more members of that object: JSON, @file, or - for standard input')
      .action((runId: string, step: string | undefined, options: AnswerOptions) =>
        answer(runId, step, () => verdict(approved, options.payload), outputFor(options)),
      )
  }
  answerCommand(
    waits,
    'resume',
    'Resume a wait with any payload; by its run, or with the token that was issued for it.',
  )
    .option('--payload <json>', 'the output of the wait: JSON, @file, or - for standard input (default: null)')
    .action((run: string, step: string | undefined, options: AnswerOptions) =>
      answer(run, step, () => payloadOf(options.payload) ?? null, outputFor(options)),
    )
}

function answerCommand(waits: Command, name: string, description: string): Command {
  return waits
    .command(name)
    .description(description)
    .argument('<run>', 'the id of the run, or a token')
    .argument('[step]', 'the slug of the wait (default: the one that stands open)')
    .option('--json', 'print one JSON object')
}

async function list(options: { workspace?: string; limit: string }, output: Output): Promise<void> {
  const limit = pageSize(options.limit)
  const waits = await withRunStore(({ adapter }) => adapter.listOpenWaits({ workspaceId: options.workspace, limit }))
  output.result({
    waits: waits.map(({ runId, nodeId, openedAt, dueAt }) => ({ runId, step: nodeId, openedAt, dueAt })),
  })
  if (waits.length === 0) return output.line('Nothing waits.')
  const columns = [{ title: 'run' }, { title: 'wait' }, { title: 'open since' }, { title: 'until' }]
  const rows = waits.map(({ runId, nodeId, openedAt, dueAt }) => [runId, nodeId, openedAt ?? '', dueAt ?? ''])
  for (const line of textTable(columns, rows)) output.line(line)
}

async function answer(
  runOrToken: string,
  step: string | undefined,
  readPayload: () => Json,
  output: Output,
): Promise<void> {
  const payload = readPayload()
  await withRunStore(async (store) => {
    const { run, wait } = await findWait(store, runOrToken, step)
    const outcome = await store.adapter.resumeWait(run.runId, wait, payload)
    if (outcome !== 'accepted' && outcome !== 'early') throw refused(run.runId, wait, outcome)
    output.result({ runId: run.runId, step: wait, outcome })
    output.line(`${wait} of run ${run.runId} is resumed.`)
    output.line(`A runner goes on with it: npx starflow runner. Or here: npx starflow run --resume ${run.runId}`)
  })
}

async function findWait(
  store: RunStore,
  runOrToken: string,
  step: string | undefined,
): Promise<{ readonly run: RunRecord; readonly wait: string }> {
  if (runOrToken.startsWith('sfw1.')) {
    const key = store.waitTokenKey()
    if (key === undefined) throw noKey()
    const claims = verifyWaitToken(runOrToken, [key], Date.now())
    return { run: await requireRun(store, claims.runId), wait: claims.stepSlug }
  }
  const run = await requireRun(store, checkRunId(runOrToken))
  const waits = await store.adapter.readWaits(run.runId)
  const found = waits.filter((wait) => (step === undefined ? wait.status === 'open' : wait.nodeId === step))
  const [wait] = found
  if (wait !== undefined && found.length === 1) return { run, wait: wait.nodeId }
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

function noSuchWait(
  { runId, status }: RunRecord,
  step: string | undefined,
  waits: readonly WaitRecord[],
): StarflowError {
  const known = waits.map(({ nodeId, status: state }) => `${nodeId} (${state.replace('_', ' ')})`)
  return new StarflowError({
    code: 'SF209',
    message:
      step === undefined
        ? `Run ${runId} has ${known.length === 0 ? 'no open wait' : 'not one open wait'}.`
        : `There is no wait "${step}" in run ${runId}.`,
    detail: `The run is ${status}. Its waits: ${known.join(', ') || 'none'}.`,
    hint: known.length === 0 ? 'See what waits: npx starflow waits list' : 'Name one that is open after the run.',
    fields: { runId },
  })
}

const REASONS: Readonly<Record<Exclude<ResumeOutcome, 'accepted' | 'early'>, string>> = {
  already_resumed: 'somebody has resumed it before',
  timed_out: 'its time is over',
  run_ended: 'its run has ended',
  not_found: 'its run is gone',
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
