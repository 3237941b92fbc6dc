import { createLogUpdate } from 'log-update'
import type { Output } from '../output/output.ts'
import { formatCount, formatDuration, textTable } from '../output/text-table.ts'
import type { Progress } from './progress.ts'

/** Shows how far a demo is. `note` is for what stays on the screen, `update` for what the next tick replaces. */
export interface ProgressDisplay {
  note(text: string): void
  update(progress: Progress, elapsedMs: number): void
  /** Leaves the last state on the screen. May be called more than once. */
  done(): void
}

interface DisplayOptions extends Pick<Output, 'colors' | 'printable'> {
  /** Where to redraw; without it every update is a plain line now and then. */
  readonly terminal?: NodeJS.WriteStream | undefined
  readonly writeLine: (text: string) => void
  /** How often plain lines come. */
  readonly plainIntervalMs?: number
}

/** Redraws in a terminal, and writes a line now and then everywhere else. */
export function createProgressDisplay(options: DisplayOptions): ProgressDisplay {
  return options.terminal === undefined ? plainDisplay(options) : terminalDisplay(options, options.terminal)
}

function terminalDisplay(
  { colors, printable, writeLine }: DisplayOptions,
  terminal: NodeJS.WriteStream,
): ProgressDisplay {
  const draw = createLogUpdate(terminal)
  let current: string | undefined
  return {
    note(text) {
      draw.clear()
      writeLine(text)
      if (current !== undefined) draw(current)
    },
    update(progress, elapsedMs) {
      const [header, ...rows] = progressTable(progress)
      const waiting = describeStranded(progress)
      current = printable(
        [
          progressBar(progress, elapsedMs),
          ...(waiting === undefined ? [] : [waiting]),
          ...['', colors.dim(header!), ...rows],
        ].join('\n'),
      )
      draw(current)
    },
    done() {
      current = undefined
      draw.done()
    },
  }
}

function plainDisplay({ writeLine, plainIntervalMs = 5_000 }: DisplayOptions): ProgressDisplay {
  let nextAtMs = 0
  let lastLine: string | undefined
  let lastShown = true
  return {
    note: writeLine,
    update(progress, elapsedMs) {
      const waiting = describeStranded(progress)
      lastLine = `${progressLine(progress, elapsedMs)}${waiting === undefined ? '' : `; ${waiting}`}`
      lastShown = elapsedMs >= nextAtMs
      if (!lastShown) return
      nextAtMs = elapsedMs + plainIntervalMs
      writeLine(lastLine)
    },
    done() {
      if (!lastShown && lastLine !== undefined) writeLine(lastLine)
      lastShown = true
    },
  }
}

const BAR_WIDTH = 32

/** For example: `████████░░░░  72 of 288 documents  9.1 s`. */
export function progressBar({ runs }: Progress, elapsedMs: number): string {
  const ended = runs.completed + runs.failed
  const all = ended + runs.started
  const filled = all === 0 ? 0 : Math.floor((ended / all) * BAR_WIDTH)
  const failed = runs.failed === 0 ? '' : `, ${formatCount(runs.failed)} failed`
  const bar = '█'.repeat(filled) + '░'.repeat(BAR_WIDTH - filled)
  return `${bar}  ${formatCount(ended)} of ${formatCount(all)} documents${failed}  ${formatDuration(elapsedMs)}`
}

/** Says why nothing moves for a while after a kill; undefined when nothing waits for that reason. */
export function describeStranded({ stranded }: Progress): string | undefined {
  if (stranded === null) return undefined
  const { tasks, backInSeconds } = stranded
  const what = tasks === 1 ? '1 task of a killed worker' : `${formatCount(tasks)} tasks of killed workers`
  const when = backInSeconds === 0 ? 'now' : `in ${backInSeconds} s`
  return tasks === 1 ? `waiting: ${what} comes back ${when}` : `waiting: ${what} come back ${when}`
}

export function progressTable({ queues }: Progress): string[] {
  const right = (title: string) => ({ title, align: 'right' as const })
  return textTable(
    [{ title: 'queue' }, right('queued'), right('in flight'), right('done'), right('workers')],
    queues.map((queue) => [
      queue.queue,
      ...[queue.queued, queue.inFlight, queue.done, queue.liveWorkers].map(formatCount),
    ]),
  )
}

/** One line for logs. Each step shows queued/in flight/done, and its live workers. */
function progressLine(progress: Progress, elapsedMs: number): string {
  const { runs, queues } = progress
  const ended = runs.completed + runs.failed
  const steps = queues.map(
    ({ step, queued, inFlight, done, liveWorkers }) => `${step} ${queued}/${inFlight}/${done} (${liveWorkers}w)`,
  )
  return `${formatDuration(elapsedMs)}: ${ended}/${ended + runs.started} documents; queued/in flight/done: ${steps.join(', ')}`
}
