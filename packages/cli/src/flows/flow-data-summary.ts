import type { Sql } from '@starflow/core'

/** What a flow consists of in the database: what goes when it is deleted. */
export interface FlowDataSummary {
  readonly flowSlug: string
  readonly queueMode: 'flow' | 'step'
  /** Status → number of runs. */
  readonly runs: Readonly<Record<string, number>>
  readonly tasks: number
  /** Null where the queue is gone. */
  readonly queues: readonly { queueName: string; messages: number | null; archived: number | null }[]
  readonly liveWorkers: readonly { workerId: string; functionName: string; queueName: string }[]
}

/** Refused with SF201 for an unknown flow. In a transaction, the flow cannot be compiled anew before it ends. */
export async function readFlowDataSummary(sql: Sql, flowSlug: string): Promise<FlowDataSummary> {
  const [row] = await sql<[{ summary: FlowDataSummary }]>`select pgflow.flow_data_summary(${flowSlug}) as summary`
  return row.summary
}

/** For a person, one line each. */
export function describeFlowData(summary: FlowDataSummary): string[] {
  const runs = Object.entries(summary.runs)
  const total = runs.reduce((sum, [, count]) => sum + count, 0)
  const statuses = runs.length === 0 ? '' : ` (${runs.map(([status, count]) => `${count} ${status}`).join(', ')})`
  return [
    `flow    ${summary.flowSlug}, ${summary.queueMode === 'step' ? 'one queue per step' : 'one queue'}`,
    `runs    ${total}${statuses}`,
    `tasks   ${summary.tasks}`,
    ...summary.queues.map(({ queueName, messages, archived }) =>
      messages === null
        ? `queue   ${queueName}: gone already`
        : `queue   ${queueName}: ${messages} messages, ${archived} archived`,
    ),
    ...summary.liveWorkers.map(({ functionName, workerId }) => `worker  ${functionName} is alive (${workerId})`),
  ]
}
