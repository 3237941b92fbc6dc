import { spawn } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import type { Sql } from 'postgres'
import { STARFLOW } from '../../../../tests/support/compiled.ts'

const ROOT = fileURLToPath(new URL('../../../..', import.meta.url))

/** One fenced block of a page: what a reader is told to type. */
export interface DocumentedCommand {
  readonly language: 'sh' | 'sql'
  readonly text: string
}

/** The commands of a page under docs/, in order. */
export function documentedCommands(page: string): DocumentedCommand[] {
  const text = readFileSync(`${ROOT}/docs/${page}`, 'utf8')
  return [...text.matchAll(/^( *)```(sh|sql)\n([\s\S]*?)^\1```$/gm)].map(([, indent, language, body]) => ({
    language: language as 'sh' | 'sql',
    text: (body as string)
      .split('\n')
      .map((line) => line.slice((indent as string).length))
      .join('\n')
      .trim(),
  }))
}

export interface CommandOutcome {
  readonly exitCode: number | null
  /** What `starflow` printed, or the rows of a query. */
  readonly output: string
  readonly rows: readonly Record<string, unknown>[]
}

/** Does what the block says, as its reader would: `npx starflow …` as a process in the project, SQL on the database. */
export async function follow(
  command: DocumentedCommand,
  at: { readonly projectDir: string; readonly sql: Sql; readonly env: Readonly<Record<string, string>> },
): Promise<CommandOutcome> {
  if (command.language === 'sql') {
    const rows = await at.sql.unsafe(command.text)
    return { exitCode: 0, output: JSON.stringify(rows), rows: [...rows] as Record<string, unknown>[] }
  }
  const [npx, starflow, ...args] = command.text.split(/\s+/)
  if (npx !== 'npx' || starflow !== 'starflow') throw new Error(`the page says to run: ${command.text}`)
  const child = spawn(process.execPath, [...STARFLOW, ...args], {
    cwd: at.projectDir,
    env: { ...process.env, ...at.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  let output = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      output += text
    })
  }
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('close', (exitCode) => resolve({ exitCode, output, rows: [] }))
  })
}
