/** Fails when a package imports, or depends on, what the directions between packages do not allow. */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describeViolation, findViolations, type Manifest, type SourceFile } from './boundaries/boundaries.ts'
import { ROOMS } from './boundaries/rooms.ts'
import { ROOT } from './repository.ts'

const files = ['packages', 'functions'].flatMap(readSources)
const violations = findViolations(files, readManifests())
if (violations.length > 0) {
  console.error(`${violations.map(describeViolation).join('\n')}\n${violations.length} imports cross a boundary.`)
  process.exit(1)
}
console.log(`${files.length} files keep the directions between packages.`)

function readSources(folder: string): SourceFile[] {
  const absolute = join(ROOT, folder)
  if (!existsSync(absolute)) return []
  return readdirSync(absolute, { withFileTypes: true }).flatMap((entry): SourceFile[] => {
    const path = `${folder}/${entry.name}`
    if (entry.isDirectory()) return entry.name === 'node_modules' || entry.name === 'dist' ? [] : readSources(path)
    return /\.(ts|tsx|mts)$/.test(entry.name) ? [{ path, source: readFileSync(join(ROOT, path), 'utf8') }] : []
  })
}

/** Functions have no package.json of their own: they are deployed with what the root declares. */
function readManifests(): Record<string, Manifest> {
  const rooms = Object.entries(ROOMS).map(([name, room]) => [name, name === 'functions' ? '' : room.folder] as const)
  return Object.fromEntries(
    rooms
      .map(([name, folder]) => [name, join(ROOT, folder, 'package.json')] as const)
      .filter(([, path]) => existsSync(path))
      .map(([name, path]) => [name, JSON.parse(readFileSync(path, 'utf8')) as Manifest]),
  )
}
