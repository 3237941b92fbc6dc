import { execFileSync } from 'node:child_process'
import { existsSync, readFileSync, statSync } from 'node:fs'
import { dirname, join } from 'node:path'
import GithubSlugger from 'github-slugger'
import { expect, test } from 'vitest'
import { ROOT } from '../../scripts/repository.ts'

const tracked = execFileSync('git', ['ls-files', '--cached', '--others', '--exclude-standard', '*.md'], {
  cwd: ROOT,
  encoding: 'utf8',
})
const documents = tracked.split('\n').filter((path) => path !== '' && existsSync(join(ROOT, path)))

test.each(documents)('every link of %s to a file or a heading leads somewhere', (document) => {
  const text = withoutCode(readFileSync(join(ROOT, document), 'utf8'))
  const inline = [...text.matchAll(/\]\(([^)\s]+)\)/g)]
  const definitions = [...text.matchAll(/^\[[^\]]+\]: (\S+)$/gm)]
  const targets = [...inline, ...definitions].map((match) => match[1] as string)
  const links = targets.filter((target) => !/^[a-z]+:/.test(target))
  expect(links.filter((target) => !leadsSomewhere(document, target))).toEqual([])
})

function leadsSomewhere(document: string, target: string): boolean {
  const [path, anchor] = target.split('#') as [string, string?]
  const file = join(ROOT, path === '' ? document : join(dirname(document), path))
  if (!existsSync(file)) return false
  return anchor === undefined || (statSync(file).isFile() && anchorsOf(file).includes(anchor))
}

function anchorsOf(file: string): string[] {
  const slugger = new GithubSlugger()
  const headings = withoutCode(readFileSync(file, 'utf8')).matchAll(/^#{1,6} (.+)$/gm)
  return [...headings].map(([, heading]) => slugger.slug((heading as string).replaceAll('`', '')))
}

function withoutCode(text: string): string {
  return text.replace(/```[\s\S]*?```/g, '')
}
