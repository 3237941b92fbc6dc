import { readFileSync } from 'node:fs'
import { inject } from 'vitest'
import type { TestDatabase } from '../../../../tests/support/test-database.ts'

/** What the server has logged about this database that holds a text, for example `deadlock detected`. */
export function serverLog(database: TestDatabase, text: string): string[] {
  return readFileSync(inject('testServer').logFile, 'utf8')
    .split('\n')
    .filter((line) => line.includes(` ${database.name} `) && line.includes(text))
}
