import { type Database, OPERATOR_CALL_TIMEOUT_MS } from '@starflow/core'
import { StarflowError } from '@starflow/errors'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output } from '../output/output.ts'
import { ask } from '../output/question.ts'
import { describeFlowData, type FlowDataSummary, readFlowDataSummary } from './flow-data-summary.ts'

export interface DeleteFlowOptions extends DatabaseOptions {
  /** Count what would go; delete nothing. */
  readonly dryRun?: boolean
  /** Delete without asking. */
  readonly yes?: boolean
}

/**
 * `starflow flows delete SLUG`: a flow, its runs, queues and archives, in one transaction.
 *
 * @throws StarflowError SF201 for an unknown flow, SF620 while a worker of it is alive, SF622 without a yes
 */
export async function deleteFlow(flowSlug: string, options: DeleteFlowOptions, output: Output): Promise<void> {
  await withDatabase({ ...options, callTimeoutMs: OPERATOR_CALL_TIMEOUT_MS }, async ({ sql, source }) => {
    const found = await readFlowDataSummary(sql, flowSlug)
    output.line(`${options.dryRun ? 'Would be deleted' : 'To be deleted'} (database of ${source}):`)
    for (const line of describeFlowData(found)) output.line(`  ${line}`)
    if (options.dryRun) {
      output.result({ deleted: false, mayDelete: found.liveWorkers.length === 0, ...found })
      return
    }
    refuseWhileInUse(found)
    if (!options.yes && !(await mayDelete(found, output))) throw notConfirmed(found)
    const deleted = await deleteUnused(sql, flowSlug)
    output.line(`Flow ${flowSlug} is deleted.`)
    output.result({ deleted: true, ...deleted })
  })
}

/** Counted and refused again under the flow's lock: between question and answer a worker may have started. */
async function deleteUnused(sql: Database, flowSlug: string): Promise<FlowDataSummary> {
  return await sql.begin(async (tx) => {
    const summary = await readFlowDataSummary(tx, flowSlug)
    refuseWhileInUse(summary)
    await tx`select pgflow.delete_flow_and_data(${flowSlug})`
    return summary
  })
}

function refuseWhileInUse(summary: FlowDataSummary): void {
  if (summary.liveWorkers.length === 0) return
  const functionNames = [...new Set(summary.liveWorkers.map((worker) => worker.functionName))]
  throw new StarflowError({
    code: 'SF620',
    message: `Flow "${summary.flowSlug}" is in use: ${summary.liveWorkers.length === 1 ? 'a worker of it is' : `${summary.liveWorkers.length} workers of it are`} alive.`,
    detail: `Worker functions: ${functionNames.join(', ')}.`,
    hint: `Fence them, so that nothing starts them again: npx starflow fence --flow ${summary.flowSlug}. Then wait until npx starflow drain-status shows no live worker; a killed one counts for some seconds.`,
    fields: { flowSlug: summary.flowSlug, functionNames },
  })
}

async function mayDelete(summary: FlowDataSummary, output: Output): Promise<boolean> {
  const answer = await ask(output, `There is no way back. Type ${summary.flowSlug} to delete it: `)
  return answer === summary.flowSlug
}

function notConfirmed(summary: FlowDataSummary): StarflowError {
  return new StarflowError({
    code: 'SF622',
    message: `Flow "${summary.flowSlug}" was not deleted: nobody confirmed it.`,
    detail: 'Its runs, queues and archives would go with it, and there is no way back.',
    hint: 'Run again with --yes, or with --dry-run to see what would go.',
    fields: { flowSlug: summary.flowSlug },
  })
}
