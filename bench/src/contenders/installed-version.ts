import { readFileSync } from 'node:fs'

/** The version of a package in this folder's own `node_modules`. */
export function installedVersion(name: string): string {
  const manifest = new URL(`../../node_modules/${name}/package.json`, import.meta.url)
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { version: string }).version
}
