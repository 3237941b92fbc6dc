import type { Json } from '@starflow/dsl'
import type { RunEvent } from '@starflow/engine'
import { createLogUpdate } from 'log-update'
import type { Output } from '../output/output.ts'
import { formatCount, formatDuration } from '../output/text-table.ts'
import type { RunProgress, StepProgress } from './run-progress.ts'

/** Shows a run while it goes on. `note` is for what stays on the screen. */
export interface RunView {
  show(events: readonly RunEvent[]): void
  note(text: string): void
  /** Leaves the last state on the screen. Twice is fine. */
  done(): void
}

/**
 * In a terminal the steps, redrawn as they go on; elsewhere a line for each step that begins, waits or ends. With `--json` nothing, or
 * each event as a line.
 */
export function createRunView(output: Output, progress: RunProgress, options: { events: boolean }): RunView {
  if (output.json) return jsonView(output, options.events)
  return output.isInteractive ? terminalView(output, progress) : plainView(output, progress)
}

function jsonView(output: Output, events: boolean): RunView {
  return {
    show: (shown) => {
      for (const { id, runId, type, nodeId, payload, createdAt } of events ? shown : []) {
        output.result({ event: { id, runId, type, nodeId, payload: payload as Json, createdAt } })
      }
    },
    // Standard output is for a program.
    note: (text) => output.problem(text),
    done: () => {},
  }
}

function plainView(output: Output, progress: RunProgress): RunView {
  return {
    show(events) {
      for (const event of events) {
        const changed = progress.apply(event)
        if (changed !== undefined && changed.state !== 'to come') output.line(stepLine(changed))
        else if (event.type === 'node_retry') output.line(retryLine(event))
        else if (event.type === 'runner_lost') output.line(lostLine(event))
      }
    },
    note: (text) => output.line(text),
    done: () => {},
  }
}

function terminalView(output: Output, progress: RunProgress): RunView {
  const draw = createLogUpdate(process.stdout)
  let isDrawn = false
  const redraw = () => {
    isDrawn = true
    draw(output.printable(progress.steps.map((step) => coloured(output, step)).join('\n')))
  }
  return {
    show(events) {
      for (const event of events) {
        progress.apply(event)
        if (event.type === 'runner_lost') this.note(lostLine(event))
      }
      redraw()
    },
    note(text) {
      draw.clear()
      output.line(text)
      if (isDrawn) redraw()
    },
    done() {
      if (isDrawn) draw.done()
      isDrawn = false
    },
  }
}

const SYMBOLS = {
  'to come': '·',
  running: '▸',
  waiting: '⏸',
  done: '✓',
  skipped: '–',
  failed: '✗',
  stopped: '■',
} as const

function coloured({ colors }: Output, step: StepProgress): string {
  const line = stepLine(step)
  if (step.state === 'done') return colors.green(line)
  if (step.state === 'failed') return colors.red(line)
  if (step.state === 'waiting') return colors.yellow(line)
  return step.state === 'running' ? line : colors.dim(line)
}

/** One step as a line: where it stands, how many elements, how long, and why. */
export function stepLine(step: StepProgress): string {
  const { slug, state, done, total, startedAt, endedAt, reason } = step
  const count = step.isMap && state !== 'to come' ? elements(done, total) : undefined
  const duration = startedAt === undefined || endedAt === undefined ? undefined : formatDuration(endedAt - startedAt)
  const why = state === 'done' || state === 'to come' ? undefined : reason
  const word = state === 'to come' || state === 'done' ? undefined : state
  return [`${SYMBOLS[state]} ${slug}`, word, count, duration, why].filter((part) => part !== undefined).join('  ')
}

function elements(done: number, total: number | undefined): string {
  return total === undefined ? formatCount(done) : `${formatCount(done)} of ${formatCount(total)}`
}

function retryLine({ nodeId, payload }: RunEvent): string {
  const delay = Number(payload?.delay_ms ?? 0)
  const error = payload?.error as { readonly message?: string } | undefined
  return `▸ ${nodeId}  attempt ${String(payload?.attempt)} failed, again in ${formatDuration(delay)}: ${error?.message ?? ''}`
}

function lostLine({ payload }: RunEvent): string {
  return `  the runner ${String(payload?.runner_id ?? '')} was lost; the run goes on from what is done`
}
