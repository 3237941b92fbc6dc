import { existsSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import { StarflowError } from '@starflow/errors'

/** The packages that carry Deno's binary, by `process.platform` and `process.arch`. */
const PLATFORM_PACKAGES: Readonly<Record<string, string>> = {
  'darwin-arm64': '@deno/darwin-arm64',
  'darwin-x64': '@deno/darwin-x64',
  'linux-arm64': '@deno/linux-arm64-glibc',
  'linux-x64': '@deno/linux-x64-glibc',
}

/**
 * Path of the Deno binary that came with the npm package `deno`. It is found without that package's install script and
 * without its wrapper, so it works where scripts are blocked and starts 200 ms sooner. Throws SF512 where there is none.
 */
export function resolveDenoBinary(): string {
  const platform = `${process.platform}-${process.arch}`
  const packageName = PLATFORM_PACKAGES[platform]
  if (packageName === undefined) {
    throw new StarflowError({
      code: 'SF512',
      message: `There is no Deno binary for ${platform}.`,
      detail: `Known platforms: ${Object.keys(PLATFORM_PACKAGES).join(', ')}.`,
      hint: 'Install Deno yourself and pass its path as the option `deno`. On Windows use WSL.',
    })
  }
  const binary = binaryOf(packageName)
  if (binary === undefined) {
    throw new StarflowError({
      code: 'SF512',
      message: `The package ${packageName} is not installed.`,
      detail: 'It is an optional dependency of the npm package "deno".',
      hint: 'Run npm install without --omit=optional, or pass the path of a Deno binary as the option `deno`.',
    })
  }
  return binary
}

function binaryOf(packageName: string): string | undefined {
  // The platform package is a dependency of `deno`, not ours: with a strict layout only `deno` can see it.
  const own = createRequire(import.meta.url)
  for (const from of [() => createRequire(own.resolve('deno/package.json')), () => own]) {
    try {
      const path = join(dirname(from().resolve(`${packageName}/package.json`)), 'deno')
      if (existsSync(path)) return path
    } catch {
      // Not visible from there.
    }
  }
  return undefined
}
