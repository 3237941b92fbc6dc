import { describe, expect, test, vi } from 'vitest'
import { type DenoEnd, describeDenoEnd, hasCrashed, runTwiceAtMost } from './deno-end.ts'

const end = (parts: Partial<DenoEnd>): DenoEnd => ({ exitCode: null, signal: null, stdout: '', stderr: '', ...parts })
const outOfMemory = end({
  signal: 'SIGTRAP',
  stderr: `\n\n#\n# Fatal process out of memory: Oilpan: CagedHeap reservation.\n#
==== C stack trace ===============================\n\n    /deno(+0x28b0d2e) [0x55c2c19a3d2e]\n`,
})
const panic = end({
  exitCode: 1,
  stderr: "thread 'main' panicked at src/main.rs:1:\nno thread\nstack backtrace:\n   0: <unknown>\n   1: <unknown>\n",
})

describe('the end of Deno', () => {
  test.each([
    [
      'a signal and what was the matter',
      outOfMemory,
      /^Deno was ended by SIGTRAP: # Fatal process out of memory: .*\.$/,
    ],
    ['an exit code', panic, /^Deno ended with exit code 1: thread 'main' panicked at src\/main\.rs:1:\nno thread$/],
    [
      'frames alone',
      end({ signal: 'SIGABRT', stderr: '0: <unknown>\n' }),
      /^Deno was ended by SIGABRT: \(no output\)$/,
    ],
    [
      'much output',
      end({ exitCode: 1, stderr: Array.from({ length: 30 }, (_, at) => `line ${at}`).join('\n') }),
      /^Deno ended with exit code 1: line 0\n[^…]*line 5\n…\nline 24\n[^…]*line 29$/,
    ],
  ])('is told with %s, and without frames that have no names', (_what, ended, text) => {
    expect(describeDenoEnd(ended)).toMatch(text)
  })

  test('is a crash where Deno broke down, and none where what it ran has failed or somebody has ended it', () => {
    expect([outOfMemory, panic, end({ signal: 'SIGKILL' })].map(hasCrashed)).toEqual([true, true, true])
    const others = [
      end({ exitCode: 3 }),
      end({ exitCode: 1, stderr: 'error: Uncaught Error: Fatal' }),
      end({ signal: 'SIGINT' }),
    ]
    expect(others.map(hasCrashed)).toEqual([false, false, false])
  })

  test.each([
    ['goes on after one crash', [panic, end({ exitCode: 0 })], 2],
    ['does not try a third time', [panic, outOfMemory], 2],
    ['takes what a module did as it is', [end({ exitCode: 3 })], 1],
  ])('%s', async (_claim, ends, runs) => {
    const run = vi.fn<() => Promise<DenoEnd>>()
    for (const each of ends) run.mockResolvedValueOnce(each)
    expect([await runTwiceAtMost(run, 0), run.mock.calls.length]).toEqual([ends.at(-1), runs])
  })
})
