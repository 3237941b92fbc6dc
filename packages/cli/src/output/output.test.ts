import { describe, expect, it } from 'vitest'
import { createOutput } from './output.ts'

const EVIL = 'a\x1b]0;title\x07b\x1b[2Jc\x9b31md\x7fe\rf\u202eg\x1b[8mh'
const SHOWN = 'a␛]0;title␇b␛[2Jc\ufffd31md␡e␍fg␛[8mh'

function outputTo({ json = false, isTTY = true }) {
  const written: string[] = []
  const stream = { write: (text: string) => written.push(text), isTTY }
  return { output: createOutput({ json }, { stdout: stream, stderr: stream }), written }
}

describe('output', () => {
  it('shows the controls of a text, and has them control nothing', () => {
    for (const isTTY of [true, false]) {
      const { output, written } = outputTo({ isTTY })
      output.line(EVIL)
      output.problem(EVIL)
      expect(written).toEqual([`${SHOWN}\n`, `${SHOWN}\n`])
    }
  })

  it('keeps the lines, the tabs and the colours that are its own', () => {
    const { output, written } = outputTo({})
    output.line(`one\r\ntwo\t${output.colors.bold(output.colors.red(EVIL))}`)
    const [before, after] = ['\x1b[1m\x1b[31m', '\x1b[39m\x1b[22m']
    expect(written).toEqual([`one\ntwo\t${before}${SHOWN}${after}\n`])
  })

  it('escapes in JSON what JSON would leave as it is', () => {
    const { output, written } = outputTo({ json: true })
    output.result({ error: EVIL })
    expect(written[0]).not.toMatch(/[^\P{Cc}\n]/u)
    expect(JSON.parse(written[0]!)).toEqual({ error: EVIL })
  })
})
