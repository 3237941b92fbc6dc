import { expect, test } from 'vitest'
import { cpuMsOfStat, sampleProcesses, usagesOfPs } from './process-usage.ts'

test('a process name with spaces and parentheses does not shift the CPU fields of /proc', () => {
  const fields = ['S', '1', '1', '1', '0', '-1', '0', '0', '0', '0', '0', '120', '30', '0', '0']
  expect(cpuMsOfStat(`42 (a) b (c)) ${fields.join(' ')}`)).toBe(1_500)
})

test('ps tells CPU time in minutes, hours or days', () => {
  const usages = usagesOfPs('  17   0:01.25  2048\n 18 01:02:03 1024\n19 1-00:00:10 0\nnonsense\n')
  expect([...usages]).toEqual([
    [17, { cpuMs: 1_250, memoryMb: 2 }],
    [18, { cpuMs: 3_723_000, memoryMb: 1 }],
    [19, { cpuMs: 86_410_000, memoryMb: 0 }],
  ])
})

test('a process that is gone is left out of a sample', async () => {
  const usages = await sampleProcesses([process.pid, 2 ** 22 + 1])
  expect([...usages.keys()]).toEqual([process.pid])
  expect(usages.get(process.pid)!.cpuMs).toBeGreaterThan(0)
})
