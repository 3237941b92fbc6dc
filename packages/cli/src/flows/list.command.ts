import { flowFamily, readCompiledFlows, readFlowSchedules } from '@starflow/core/operations'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output } from '../output/output.ts'
import { textTable } from '../output/text-table.ts'

/** `starflow flows list`. */
export async function listFlows(options: DatabaseOptions, output: Output): Promise<void> {
  const flows = await withDatabase(options, async ({ sql }) => {
    const [compiled, schedules] = await Promise.all([readCompiledFlows(sql), readFlowSchedules(sql)])
    return compiled.map((flow) => ({
      ...{ ...flow, ...flowFamily(flow.flow) },
      schedules: schedules.filter((schedule) => schedule.flow === flow.flow),
    }))
  })
  output.result({ flows })
  const columns = [
    ...['flow', 'queues', 'steps'].map((title) => ({ title })),
    ...['open runs', 'open waits', 'live workers'].map((title) => ({ title, align: 'right' as const })),
    ...['schedules', 'intake'].map((title) => ({ title })),
  ]
  const rows = flows.map((each) => [
    ...[each.flow, each.queueMode === 'step' ? 'one per step' : 'one', each.steps.map(({ step }) => step).join(', ')],
    ...[each.openRuns, each.openWaits, each.liveWorkers].map(String),
    each.schedules.map(({ schedule, isActive }) => (isActive ? schedule : `${schedule} (off)`)).join(', '),
    each.pausedAt === null ? '' : 'paused',
  ])
  for (const line of flows.length === 0 ? ['No flow is compiled.'] : textTable(columns, rows)) output.line(line)
}
