import { Writable } from 'node:stream'
import { expect, test } from 'vitest'
import { lineSink } from './line-sink.ts'
import { MAX_LOG_BACKLOG_BYTES } from './numbers.ts'

/** A pipe whose reader takes a line only when it is told to. */
function standingPipe() {
  const taken: string[] = []
  const waiting: (() => void)[] = []
  const stream = new Writable({
    decodeStrings: false,
    write(chunk: string, _encoding, done) {
      taken.push(chunk)
      waiting.push(done)
    },
  })
  const readAll = async () => {
    for (let take = waiting.shift(); take !== undefined; take = waiting.shift()) {
      take()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
  return { stream, taken, readAll }
}

test('a pipe that nobody reads takes a backlog and no more, and how much was left out is said afterwards', async () => {
  const { stream, taken, readAll } = standingPipe()
  const sink = lineSink(stream)
  const line = `${'x'.repeat(MAX_LOG_BACKLOG_BYTES / 4 - 1)}\n`
  for (let written = 0; written < 10; written++) sink.write(line)
  expect(stream.writableLength).toBeLessThanOrEqual(MAX_LOG_BACKLOG_BYTES)
  await readAll()
  expect(taken).toHaveLength(4)
  sink.write('again\n')
  await readAll()
  expect(JSON.parse(taken[4]!)).toMatchObject({ msg: 'log.left_out', lines: 6 })
  expect(taken[5]).toBe('again\n')
})

test('a pipe that was closed costs nothing but its lines', async () => {
  const stream = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error('closed'), { code: 'EPIPE' })),
  })
  const sink = lineSink(stream)
  sink.write('one\n')
  await new Promise((resolve) => stream.once('close', resolve))
  sink.write('two\n')
  expect(stream.destroyed).toBe(true)
})
