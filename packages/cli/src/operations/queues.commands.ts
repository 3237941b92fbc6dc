import { OPERATOR_CALL_TIMEOUT_MS, type Sql } from '@starflow/core'
import { queueTroubles, readQueueHistory, readQueues } from '@starflow/core/operations'
import { StarflowError } from '@starflow/errors'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { formatDuration, textTable } from '../output/text-table.ts'

interface UnsupportedRow {
  readonly queueName: string
  readonly messageId: string
  readonly readCount: number
  readonly enqueuedAt: Date
  readonly visibleAt: Date
  /** Its task, which another queue serves; null where no task knows the message. */
  readonly task: { readonly flowSlug: string; readonly stepSlug: string; readonly runId: string } | null
}

interface DeadLetterRow {
  readonly queueName: string
  readonly messageId: string
  readonly readCount: number
  readonly deadAt: Date
  readonly error: string
}

interface RedriveOptions extends DatabaseOptions {
  readonly message?: readonly string[]
  readonly dryRun?: boolean
}

interface HistoryOptions extends DatabaseOptions {
  readonly hours: string
  readonly points: string
}

interface UnsupportedOptions extends DatabaseOptions {
  readonly queue?: string
  readonly archive?: boolean
  readonly dryRun?: boolean
}

/** The messages of a queue are counted so far. */
const COUNTED_MESSAGES = 10_000
const MAX_POINTS = 10_080

/** Adds `starflow queues …`. */
export function addQueuesCommands(program: Command, outputFor: OutputFor): void {
  const queues = program.command('queues').description('The queues of flows and queue workers.')
  withDatabaseOptions(queues.command('list').description('List the queues with their depth, age and workers.')).action(
    (options: DatabaseOptions & { json?: boolean }) => runList(options, outputFor(options)),
  )
  withDatabaseOptions(
    queues
      .command('history')
      .description('Show how full a queue was and how much was done, minute by minute; a week is kept.')
      .argument('<queue>', 'the queue')
      .option('--hours <hours>', 'how far back, up to 168', '1')
      .option('--points <points>', 'about how many lines at most', '60'),
  ).action((queue: string, options: HistoryOptions & { json?: boolean }) =>
    runHistory(queue, options, outputFor(options)),
  )
  withDatabaseOptions(
    queues
      .command('unsupported')
      .description('List messages that no task knows, without their bodies: sent by hand, or left by something else.')
      .option('--queue <name>', 'one queue only')
      .option('--archive', 'move them into the archive of their queue')
      .option('--dry-run', 'with --archive: change nothing'),
  ).action((options: UnsupportedOptions & { json?: boolean }) => runUnsupported(options, outputFor(options)))
  withDatabaseOptions(
    queues
      .command('redrive')
      .description('Send the dead letters of a queue worker again: messages whose retries were used up.')
      .argument('<queue>', 'the queue')
      .option('--message <id...>', 'only these messages')
      .option('--dry-run', 'list them with their errors, without their bodies, and change nothing'),
  ).action((queue: string, options: RedriveOptions & { json?: boolean }) =>
    runRedrive(queue, options, outputFor(options)),
  )
}

async function runList(options: DatabaseOptions, output: Output): Promise<void> {
  const queues = await withDatabase(options, ({ sql }) => readQueues(sql))
  output.result({ queues: queues.map((queue) => ({ ...queue, troubles: queueTroubles(queue) })) })
  const lines = textTable(
    [
      { title: 'queue' },
      ...['depth', 'in flight', 'oldest', 'done/min', 'live workers'].map(rightAligned),
      ...[{ title: 'steps' }, { title: 'trouble' }],
    ],
    queues.map((each) => [
      each.queueName,
      each.depth === null ? 'gone' : each.depth >= COUNTED_MESSAGES ? `${COUNTED_MESSAGES}+` : String(each.depth),
      each.inFlight === null ? '' : String(each.inFlight),
      each.oldestSeconds === null ? '' : formatDuration(each.oldestSeconds * 1000),
      each.donePerMinute === null ? '' : each.donePerMinute.toFixed(1),
      String(each.liveWorkers),
      each.steps.join(', ') || '(queue worker)',
      queueTroubles(each)
        .map((trouble) => trouble.replace('_', ' '))
        .join(', '),
    ]),
  )
  for (const line of queues.length === 0 ? ['There is no queue.'] : lines) output.line(line)
}

async function runHistory(queueName: string, options: HistoryOptions, output: Output): Promise<void> {
  const hours = numberOption('--hours', options.hours, 168)
  const points = numberOption('--points', options.points, MAX_POINTS)
  const to = new Date()
  const from = new Date(to.getTime() - hours * 3_600_000)
  const samples = await withDatabase(options, ({ sql }) => readQueueHistory(sql, queueName, { from, to, points }))
  output.result({ queue: queueName, samples })
  const lines = textTable(
    [{ title: 'at' }, ...['depth', 'in flight', 'oldest', 'done', 'done/min', 'live workers'].map(rightAligned)],
    samples.map((each) => [
      each.sampledAt.toISOString(),
      each.depth >= COUNTED_MESSAGES ? `${COUNTED_MESSAGES}+` : String(each.depth),
      String(each.inFlight),
      each.oldestSeconds === null ? '' : formatDuration(each.oldestSeconds * 1000),
      each.done === null ? '' : String(each.done),
      each.donePerMinute === null ? '' : each.donePerMinute.toFixed(1),
      String(each.liveWorkers),
    ]),
  )
  for (const line of samples.length === 0 ? [`${queueName} has no samples of the last ${hours} h.`] : lines) {
    output.line(line)
  }
  if (samples.length === 0)
    output.line('They are taken each minute where it is scheduled: select starflow.setup_queue_samples_cron()')
}

function numberOption(option: string, text: string, largest: number): number {
  const value = Number(text)
  if (text.trim() !== '' && value > 0 && value <= largest) return value
  throw new StarflowError({
    code: 'SF610',
    message: `${option} cannot be "${text}".`,
    detail: `It is a number above 0, up to ${largest}.`,
    hint: 'Leave it out for the default.',
  })
}

function rightAligned(title: string) {
  return { title, align: 'right' } as const
}

async function runUnsupported(options: UnsupportedOptions, output: Output): Promise<void> {
  await withDatabase({ ...options, callTimeoutMs: OPERATOR_CALL_TIMEOUT_MS }, async ({ sql }) => {
    if (options.queue !== undefined) await requireFlowQueue(sql, options.queue)
    const messages = await readUnsupported(sql, options.queue)
    const willArchive = options.archive === true && options.dryRun !== true
    const archived = willArchive ? await archive(sql, messages) : 0
    output.result({ messages, archived })
    const lines = textTable(
      [
        { title: 'queue' },
        { title: 'message', align: 'right' },
        { title: 'read', align: 'right' },
        { title: 'since' },
        { title: 'visible at' },
        { title: 'task' },
      ],
      messages.map((each) => [
        each.queueName,
        each.messageId,
        `${each.readCount}×`,
        each.enqueuedAt.toISOString(),
        each.visibleAt.toISOString(),
        each.task === null ? 'none' : `${each.task.flowSlug}.${each.task.stepSlug} of run ${each.task.runId}`,
      ]),
    )
    for (const line of messages.length === 0 ? ['Every message belongs to a task that its queue serves.'] : lines)
      output.line(line)
    if (willArchive) output.line(`\n${archived} archived. They are kept in pgmq.a_<queue>.`)
    else if (messages.length > 0 && options.archive === true) output.line('\nWould be archived. Nothing was changed.')
    if (messages.some(({ task }) => task !== null)) {
      output.line(
        '\nMessages with a task are not archived. They go to the queue of their step with: npx starflow repair',
      )
    }
  })
}

/** A misspelt name must not look like a queue in which all is well. */
async function requireFlowQueue(sql: Sql, queueName: string): Promise<void> {
  const rows = await sql<{ name: string }[]>`
    select distinct queue_name as name from pgflow.steps where step_type <> 'wait' order by queue_name`
  const names = rows.map(({ name }) => name)
  if (names.includes(queueName.toLowerCase())) return
  throw new StarflowError({
    code: 'SF610',
    message: `No flow has a queue "${queueName}".`,
    detail: names.length === 0 ? 'No flow has been compiled in this database.' : `They have: ${names.join(', ')}.`,
    hint: 'Leave --queue out for all of them.',
    fields: { queueName },
  })
}

async function readUnsupported(sql: Sql, queueName?: string): Promise<UnsupportedRow[]> {
  return await sql<UnsupportedRow[]>`
    select queue_name as "queueName", message_id::text as "messageId", read_count as "readCount",
           enqueued_at as "enqueuedAt", visible_at as "visibleAt",
           case when run_id is not null then jsonb_build_object('flowSlug', flow_slug, 'stepSlug', step_slug, 'runId', run_id) end as task
    from pgflow.unsupported_messages
    where ${queueName ?? null}::text is null or queue_name = lower(${queueName ?? null})
    order by queue_name, message_id`
}

/** Only what was shown, and of it only what still belongs to no task. */
async function archive(sql: Sql, messages: readonly UnsupportedRow[]): Promise<number> {
  let count = 0
  for (const [queueName, ids] of groupByQueue(messages)) {
    const rows = await sql`
      select pgmq.archive(${queueName}, array(
        select message_id from pgflow.unsupported_messages
        where queue_name = ${queueName} and message_id = any (${ids}::bigint[]) and run_id is null))`
    count += rows.length
  }
  return count
}

function groupByQueue(messages: readonly UnsupportedRow[]): Map<string, string[]> {
  const groups = new Map<string, string[]>()
  for (const { queueName, messageId } of messages) {
    groups.set(queueName, [...(groups.get(queueName) ?? []), messageId])
  }
  return groups
}

async function runRedrive(queueName: string, options: RedriveOptions, output: Output): Promise<void> {
  const ids = options.message === undefined ? null : messageIds(options.message)
  await withDatabase({ ...options, callTimeoutMs: OPERATOR_CALL_TIMEOUT_MS }, async ({ sql }) => {
    // None of them: a queue that can have no dead letters is refused before anything is listed.
    await redrive(sql, queueName, [])
    const messages = await readDeadLetters(sql, queueName, ids)
    const redriven = options.dryRun === true ? 0 : await redrive(sql, queueName, ids)
    output.result({ messages, redriven, isDryRun: options.dryRun === true })
    const lines = textTable(
      [
        { title: 'message', align: 'right' },
        { title: 'read', align: 'right' },
        { title: 'dead since' },
        { title: 'error' },
      ],
      messages.map((each) => [each.messageId, `${each.readCount}×`, each.deadAt.toISOString(), each.error]),
    )
    for (const line of messages.length === 0
      ? [`${queueName} has no dead letter${ids === null ? '' : ' of these'}.`]
      : lines) {
      output.line(line)
    }
    if (options.dryRun !== true) output.line(`\n${redriven} sent again.`)
    else if (messages.length > 0) output.line('\nWould be sent again. Nothing was changed.')
  })
}

async function readDeadLetters(sql: Sql, queueName: string, ids: readonly string[] | null): Promise<DeadLetterRow[]> {
  return await sql<DeadLetterRow[]>`
    select queue_name as "queueName", message_id::text as "messageId", read_count as "readCount", dead_at as "deadAt",
           left(concat_ws(': ', error_name, split_part(error_message, E'\n', 1)), 200) as error
    from pgflow.dead_letters
    where queue_name = lower(${queueName}) and (${ids}::bigint[] is null or message_id = any (${ids}::bigint[]))
    order by dead_letter_id`
}

async function redrive(sql: Sql, queueName: string, ids: readonly string[] | null): Promise<number> {
  const [row] = await sql<
    [{ count: number }]
  >`select pgflow.redrive_dead_letters(${queueName}, ${ids}::bigint[]) as count`
  return row.count
}

function messageIds(texts: readonly string[]): string[] {
  const wrong = texts.find((text) => !/^[1-9]\d{0,18}$/.test(text))
  if (wrong === undefined) return [...texts]
  throw new StarflowError({
    code: 'SF610',
    message: `--message cannot be "${wrong}".`,
    detail: 'The id of a message is a whole number.',
    hint: 'See them with: npx starflow queues redrive <queue> --dry-run',
  })
}
