import { mkdirSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { onTestFinished, test } from 'vitest'
import { FunctionWatcher } from '../src/functions/function-watcher.ts'
import { temporaryFolder, writeFile } from './support/temporary-folder.ts'

test('a file that is saved by a rename is noticed each time', async () => {
  const { folder, changeOf } = watched({ 'a/index.ts': '0' })
  const file = join(folder, 'a/index.ts')
  for (const text of ['1', '2', '3']) {
    const noticed = changeOf(file)
    replaceByRename(file, text)
    await noticed
  }
})

test('a file in a folder that was made, removed and made again is noticed', async () => {
  const { folder, changeOf } = watched({ 'a/index.ts': '0' })
  const inNew = join(folder, 'b/deep/part.ts')
  const made = changeOf(join(folder, 'b'))
  mkdirSync(join(folder, 'b/deep'), { recursive: true })
  await made
  for (const text of ['1', '2']) {
    const noticed = changeOf(inNew)
    replaceByRename(inNew, text)
    await noticed
  }

  const moved = changeOf(join(folder, 'b'))
  renameSync(join(folder, 'b'), `${folder}-elsewhere`)
  await moved
  const back = changeOf(join(folder, 'b'))
  renameSync(`${folder}-elsewhere`, join(folder, 'b'))
  await back
  const noticed = changeOf(inNew)
  writeFile(inNew, '3')
  await noticed
})

test('hidden files, backups and node_modules do not count', async () => {
  const { folder, changeOf, seen } = watched({ 'a/index.ts': '0', 'node_modules/x/index.js': '0' })
  writeFile(join(folder, 'a/.index.ts.swp'), '1')
  writeFile(join(folder, 'a/index.ts~'), '1')
  writeFile(join(folder, 'node_modules/x/index.js'), '1')
  const file = join(folder, 'a/index.ts')
  const noticed = changeOf(file)
  writeFile(file, '1')
  await noticed
  if (seen.some((path) => /swp|~|node_modules/.test(path))) throw new Error(`noticed ${seen.join(', ')}`)
})

function watched(files: Readonly<Record<string, string>>) {
  const folder = temporaryFolder(files)
  const seen: string[] = []
  const waiting = new Map<string, () => void>()
  const watcher = new FunctionWatcher({
    folders: [folder],
    debounceMs: 30,
    onChange: (paths) => {
      seen.push(...paths)
      for (const path of paths) waiting.get(path)?.()
    },
  })
  watcher.start()
  onTestFinished(() => watcher.stop())
  return {
    folder,
    seen,
    /** The next change that is told of this path; the test's own limit ends a wait that is in vain. */
    changeOf: (path: string) => new Promise<void>((resolve) => waiting.set(path, resolve)),
  }
}

/** As editors save: a draft beside the file, renamed over it. */
function replaceByRename(file: string, text: string): void {
  writeFile(`${file}.draft`, text)
  renameSync(`${file}.draft`, file)
}
