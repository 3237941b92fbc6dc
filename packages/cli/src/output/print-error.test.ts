import { StarflowError } from '@starflow/errors'
import { describe, expect, test } from 'vitest'
import { createOutput } from './output.ts'
import { printError } from './print-error.ts'

function print(error: unknown, json = false) {
  let stdout = ''
  let stderr = ''
  const streams = {
    stdout: { write: (text: string) => (stdout += text) },
    stderr: { write: (text: string) => (stderr += text) },
  }
  const exitCode = printError(error, createOutput({ json }, streams))
  return { exitCode, stdout, stderr }
}

const refusal = new StarflowError({
  code: 'SF501',
  message: 'Port 54321 is in use.',
  detail: 'First line.\nSecond line.',
  hint: 'Name another port.',
  fields: { port: 54321 },
})

describe('printError', () => {
  test('an empty detail or hint is no line', () => {
    const { stderr } = print({ code: 'SF501', message: 'Port 54321 is in use.', detail: '', hint: '' })
    expect(stderr).toBe('error SF501: Port 54321 is in use.\n')
  })

  test('shows code, message, detail and hint on standard error', () => {
    expect(print(refusal)).toEqual({
      exitCode: 1,
      stdout: '',
      stderr:
        'error SF501: Port 54321 is in use.\n  detail: First line.\n          Second line.\n  hint: Name another port.\n',
    })
  })

  test('--json gives one JSON object on standard output', () => {
    const { exitCode, stdout, stderr } = print(refusal, true)
    expect({ exitCode, stderr }).toEqual({ exitCode: 1, stderr: '' })
    expect(JSON.parse(stdout)).toEqual({
      error: {
        code: 'SF501',
        name: 'PortInUseError',
        message: 'Port 54321 is in use.',
        detail: 'First line.\nSecond line.',
        hint: 'Name another port.',
        fields: { port: 54321 },
      },
    })
  })

  test('an error that SQL raised is shown with the same parts', () => {
    const sqlError = Object.assign(new Error('Flow "x" does not exist.'), { code: 'SF201', hint: 'Start its worker.' })
    expect(print(sqlError).stderr).toBe('error SF201: Flow "x" does not exist.\n  hint: Start its worker.\n')
  })

  test('a wrong command line ends with exit code 2', () => {
    expect(print(new StarflowError({ code: 'SF610', message: 'No such command.' })).exitCode).toBe(2)
  })

  test('a defect ends with exit code 70 and shows where it came from', () => {
    const { exitCode, stderr } = print(new TypeError('x is not a function'))
    expect(exitCode).toBe(70)
    expect(stderr).toContain('TypeError: x is not a function')
    expect(stderr).toContain('print-error.test.ts')
  })
})
