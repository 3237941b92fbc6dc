import { builtinModules } from 'node:module'
import { posix } from 'node:path'
import { findImports, type ImportFound } from './imports.ts'
import { ROOMS, type Room } from './rooms.ts'

/** The parts of a package.json that say what a package may import. */
export interface Manifest {
  readonly name: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly devDependencies?: Readonly<Record<string, string>>
  readonly peerDependencies?: Readonly<Record<string, string>>
}

export interface SourceFile {
  /** From the root, with slashes. */
  readonly path: string
  readonly source: string
}

export interface Violation {
  /** `<file>:<line>`, or the package.json. */
  readonly where: string
  /** What it imports or depends on. */
  readonly specifier: string
  readonly rule: string
}

const OURS = /^@starflow\/([^/]+)/
const BUILTINS = new Set(builtinModules)

/** Every import and dependency that goes against the directions of {@link ROOMS}. Tests may import what they like. */
export function findViolations(
  files: readonly SourceFile[],
  manifests: Readonly<Record<string, Manifest>>,
  rooms: Readonly<Record<string, Room>> = ROOMS,
): Violation[] {
  const names = Object.keys(rooms)
  const strangers = files
    .map((file) => /^packages\/([^/]+)\//.exec(file.path)?.[1])
    .filter((name, at, all) => name !== undefined && !names.includes(name) && all.indexOf(name) === at)
    .map((name) => ({
      where: `packages/${name}`,
      specifier: '(the package itself)',
      rule: 'every package needs a room in scripts/boundaries/rooms.ts',
    }))
  const wrong = names.flatMap((name) => {
    const room = rooms[name] as Room
    const manifest = manifests[name]
    return [
      ...(manifest === undefined ? [] : wrongDependencies(name, room, manifest)),
      ...files
        .filter((file) => file.path.startsWith(room.folder) && !isTest(file.path))
        .flatMap((file) =>
          findImports(file.path, file.source).flatMap((found) => {
            const rule = brokenRule(name, room, manifest, file.path, found)
            return rule === undefined ? [] : [{ where: `${file.path}:${found.line}`, specifier: found.specifier, rule }]
          }),
        ),
    ]
  })
  return [...strangers, ...wrong]
}

/** A violation as three lines: where, what, and which rule. */
export function describeViolation(violation: Violation): string {
  return `${violation.where}\n  imports ${violation.specifier}\n  rule: ${violation.rule}`
}

function isTest(path: string): boolean {
  return /\.test(-d)?\.tsx?$/.test(path) || /^packages\/[^/]+\/tests\//.test(path)
}

function brokenRule(
  name: string,
  room: Room,
  manifest: Manifest | undefined,
  path: string,
  found: ImportFound,
): string | undefined {
  const { specifier } = found
  if (specifier.startsWith('.')) {
    const target = posix.join(posix.dirname(path), specifier)
    if (target.startsWith(room.folder)) return undefined
    // Functions are no package, so a path is the only way to them.
    const isAllowed = target.startsWith('functions/') && mayImport(room, 'functions', found.isTypeOnly)
    return isAllowed ? undefined : `${name} imports other rooms by package name, not by path`
  }
  const ours = OURS.exec(specifier)?.[1]
  if (ours !== undefined && ours !== name && !mayImport(room, ours, found.isTypeOnly)) return direction(name, room)
  const packageName = packageOf(specifier)
  if (room.confined?.packages.includes(packageName) && !path.startsWith(`${room.folder}${room.confined.to}`)) {
    return `in ${name} only ${room.confined.to} may import ${packageName}: ${room.confined.why}`
  }
  if (found.isTypeOnly && isDeclaredForTypes(manifest, packageName)) return undefined
  if (manifest !== undefined && !isDeclared(room, manifest, packageName)) {
    return `${name} imports only what its package.json lists under dependencies`
  }
  return undefined
}

function wrongDependencies(name: string, room: Room, manifest: Manifest): Violation[] {
  return Object.keys({ ...manifest.dependencies, ...manifest.peerDependencies })
    .filter((dependency) => {
      const ours = OURS.exec(dependency)?.[1]
      return ours !== undefined && !mayImport(room, ours, true)
    })
    .map((dependency) => ({
      where: `${room.folder}package.json`,
      specifier: dependency,
      rule: direction(name, room),
    }))
}

function mayImport(room: Room, target: string, isTypeOnly: boolean): boolean {
  return room.mayImport.includes(target) || (isTypeOnly && (room.mayImportTypesOf ?? []).includes(target))
}

function direction(name: string, room: Room): string {
  const types = (room.mayImportTypesOf ?? []).map((target) => `${target} (types only)`)
  const allowed = [...room.mayImport, ...types]
  return `${name} may import ${allowed.length === 0 ? 'no package of ours' : `only ${allowed.join(', ')}`}`
}

function isDeclared(room: Room, manifest: Manifest, packageName: string): boolean {
  const bundled = room.isBundled === true ? manifest.devDependencies : {}
  return (
    packageName === manifest.name ||
    packageName.startsWith('node:') ||
    BUILTINS.has(packageName) ||
    Object.hasOwn({ ...manifest.dependencies, ...manifest.peerDependencies, ...bundled }, packageName)
  )
}

/** Types vanish before anything runs, so what only development installs will do: `@types/mdast` for `mdast`. */
function isDeclaredForTypes(manifest: Manifest | undefined, packageName: string): boolean {
  const typesPackage = `@types/${packageName.replace(/^@/, '').replace('/', '__')}`
  return Object.hasOwn({ ...manifest?.dependencies, ...manifest?.devDependencies }, typesPackage)
}

/** `@scope/name` or `name` of a specifier, without its `npm:` and version. */
function packageOf(specifier: string): string {
  if (specifier.startsWith('node:')) return specifier
  const bare = specifier.replace(/^npm:\/?/, '')
  const [first = '', second = ''] = bare.split('/')
  return first.startsWith('@') ? `${first}/${second.replace(/@.*$/, '')}` : first.replace(/@.*$/, '')
}
