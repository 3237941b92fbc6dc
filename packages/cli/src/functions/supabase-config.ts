import { basename, join, relative, sep } from 'node:path'
import type { Project } from '../project/project.ts'

const BEGIN = '# >>> worker functions, written by `starflow functions generate`'
const END = '# <<< worker functions'

/**
 * The text of supabase/config.toml with one entry for each worker function, between two marks; everything outside them
 * stays as it is, byte for byte. An entry that a person wrote outside the marks is respected and not repeated.
 *
 * `verify_jwt = false` because a worker function checks its callers itself, against a secret that need not be a JWT.
 */
export function withFunctionEntries(project: Project, found: string | undefined, names: readonly string[]): string {
  const text = found ?? `project_id = "${projectId(project)}"\n`
  const { before, after } = splitAtMarks(text)
  const outside = before + after
  const entries = names.filter((name) => !hasEntry(outside, name)).map((name) => entryOf(project, name))
  if (entries.length === 0) return before.replace(/\n\n$/, '\n') + after
  const block = `${BEGIN}\n${entries.join('\n')}${END}\n`
  return `${before}${gapBefore(before)}${block}${after}`
}

/** The text before the mark and after the end mark; the block itself is replaced. */
function splitAtMarks(text: string): { before: string; after: string } {
  const begin = text.indexOf(BEGIN)
  const end = text.indexOf(END, begin)
  if (begin === -1 || end === -1) return { before: text, after: '' }
  const rest = text.slice(end + END.length)
  return { before: text.slice(0, begin), after: rest.startsWith('\n') ? rest.slice(1) : rest }
}

function gapBefore(before: string): string {
  if (before === '' || before.endsWith('\n\n')) return ''
  return before.endsWith('\n') ? '\n' : '\n\n'
}

function hasEntry(text: string, name: string): boolean {
  return new RegExp(`^\\s*\\[functions\\.("?)${name}\\1\\]`, 'm').test(text)
}

function entryOf(project: Project, name: string): string {
  const lines = [`[functions.${name}]`, 'verify_jwt = false']
  const folder = relative(project.supabaseDir, join(project.functionsDir, name)).replaceAll(sep, '/')
  // The Supabase CLI looks in supabase/functions by itself, and has to be told of any other place.
  if (folder !== `functions/${name}`) {
    const path = folder.startsWith('.') ? folder : `./${folder}`
    lines.push(`entrypoint = "${path}/index.ts"`, `import_map = "${path}/deno.json"`)
  }
  return `${lines.join('\n')}\n`
}

function projectId(project: Project): string {
  return basename(project.root).replace(/[^A-Za-z0-9_-]/g, '-')
}
