import type { AlertFacts, TakenMessage, ToldProblem } from '../store/alert-store.ts'
import type { AlertRule } from './alert-rules.ts'

/** The body of a request, in the form that Standard Webhooks recommends. */
export interface AlertBody {
  readonly type: 'starflow.alert' | 'starflow.alert.test'
  readonly timestamp: string
  readonly data: {
    /** Which installation it is about: /health shows the same. */
    readonly databaseId: string
    readonly problems: readonly ShownProblem[]
  }
}

export interface ShownProblem {
  readonly id: string
  readonly rule: AlertRule
  readonly subject: string
  readonly status: 'open' | 'resolved'
  /** One sentence for people. */
  readonly summary: string
  readonly openedAt: string
  readonly resolvedAt: string | null
  readonly facts: AlertFacts
}

/** The same bytes for each attempt. */
export function alertBody({ createdAt, problems }: TakenMessage, databaseId: string): AlertBody {
  return { type: 'starflow.alert', timestamp: createdAt, data: { databaseId, problems: problems.map(shown) } }
}

/** What `starflow alerts test` sends: the form of a real one, and a type of its own. */
export function sampleBody(now: string): AlertBody {
  const facts = { messages: 12, oldestSeconds: 340, reason: 'no_live_worker', steps: ['exampleV1.step'] }
  const problem = { problemId: SAMPLE_ID, rule: 'uncoveredQueues', subject: 'examplev1__step', facts } as const
  return {
    type: 'starflow.alert.test',
    timestamp: now,
    data: { databaseId: SAMPLE_ID, problems: [shown({ ...problem, openedAt: now, resolvedAt: null })] },
  }
}

const SAMPLE_ID = '00000000-0000-0000-0000-000000000000'

function shown({ problemId, rule, subject, facts, openedAt, resolvedAt }: ToldProblem): ShownProblem {
  const status = resolvedAt === null ? 'open' : 'resolved'
  const sentence = SENTENCES[rule](subject, facts)
  const summary = status === 'open' ? sentence : `Over: ${sentence}`
  return { id: problemId, rule, subject, status, summary, openedAt, resolvedAt, facts }
}

/** Made of names and counts alone. */
const SENTENCES: Readonly<Record<AlertRule, (subject: string, facts: AlertFacts) => string>> = {
  failedRuns: (flow, { runs }) => `${counted(runs, 'run')} of flow "${flow}" failed.`,
  uncoveredQueues: (queue, { messages, reason }) =>
    reason === 'queue_gone'
      ? `Queue "${queue}" is gone.`
      : `Queue "${queue}" has ${counted(messages, 'message')}, and ${reason === 'fenced' ? 'its functions are disabled' : 'no live worker'}.`,
  unservedRuns: (pool, { runs }) =>
    `${counted(runs, 'run')} of ${pool === 'no pool' ? pool : `pool "${pool}"`} wait for a runner that serves them.`,
  stalls: (flow, { stalledTasks, lostRunners }) =>
    `Flow "${flow}": ${counted(stalledTasks, 'task')} stalled, ${counted(lostRunners, 'runner')} lost.`,
  outboxLag: (_, { changes, oldestSeconds }) =>
    `The warm tier lacks ${counted(changes, 'change')}, the oldest of them for ${oldestSeconds} s.`,
}

function counted(count: AlertFacts[string] | undefined, noun: string): string {
  return `${count} ${noun}${count === 1 ? '' : 's'}`
}
