import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, test } from 'vitest'
import { ROOT } from '../../scripts/repository.ts'

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
const documents = tracked.split('\n').filter((path) => path !== '' && existsSync(join(ROOT, path)))

test.each(documents)('every link of %s to a file leads somewhere', (document) => {
  const text = readFileSync(join(ROOT, document), 'utf8').replace(/```[\s\S]*?```/g, '')
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map((match) => (match[1] as string).split('#')[0] as string)
  const files = targets.filter((target) => target !== '' && !/^[a-z]+:/.test(target))
  expect(files.filter((target) => !existsSync(join(ROOT, dirname(document), target)))).toEqual([])
})
