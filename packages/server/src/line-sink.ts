import type { Writable } from 'node:stream'
import { MAX_LOG_BACKLOG_BYTES } from './numbers.ts'

/** Where lines of a log go. */
export interface LineSink {
  write(line: string): void
}

/**
 * Writes lines to a stream whose reader may be slow, stand still or be gone, and waits for none of it: beyond a backlog lines are left
 * out, and their number is said once there is room again. A stream that has failed takes nothing more.
 */
export function lineSink(stream: Writable): LineSink {
  let leftOut = 0
  // Without a listener an error would end the process.
  stream.on('error', () => {})
  return {
    write(line) {
      if (stream.destroyed || !stream.writable) return
      if (stream.writableLength + line.length > MAX_LOG_BACKLOG_BYTES) {
        leftOut++
        return
      }
      if (leftOut > 0) {
        const note = { level: 40, time: Date.now(), lines: leftOut, msg: 'log.left_out' }
        leftOut = 0
        stream.write(`${JSON.stringify(note)}\n`)
      }
      stream.write(line)
    },
  }
}
