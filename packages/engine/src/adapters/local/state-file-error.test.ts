import { expect, test } from 'vitest'
import { stateFileError } from './state-file-error.ts'

const ofNode = (code: string, text: string) => Object.assign(new Error(`${code}: ${text}`), { code, syscall: 'open' })
const ofSqlite = (code: string, text: string) => Object.assign(new Error(text), { code })

test.each([
  ['a full disk', ofSqlite('SQLITE_FULL', 'database or disk is full'), 'the disk is full', 'SQLite says'],
  [
    'a folder that finds no room',
    ofNode('ENOSPC', 'no space left on device'),
    'the disk is full',
    'The file system says',
  ],
  [
    'a disk that is read only',
    ofNode('EROFS', 'read-only file system'),
    'it cannot be opened for writing',
    'The file system says',
  ],
  [
    'a file that is read only',
    ofSqlite('SQLITE_READONLY', 'attempt to write a readonly database'),
    'it cannot be opened for writing',
    'SQLite says',
  ],
  [
    'a file that somebody holds',
    ofSqlite('SQLITE_BUSY', 'database is locked'),
    'another process has locked it for too long',
    'SQLite says',
  ],
])('%s is told of as it is, with who says so', (_, cause, reason, source) => {
  expect(stateFileError('/data/runs.db', cause)).toMatchObject({
    ...{ code: 'SF821', message: `The state file /data/runs.db cannot be used: ${reason}.` },
    detail: expect.stringContaining(source),
  })
})
