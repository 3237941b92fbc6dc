import { build } from 'vite'
import { ROOT } from '../../scripts/repository.ts'

/** What a bundler makes of a module for browsers: one script. `defined` replaces expressions by their values. */
export async function bundleForBrowser(entry: string, defined: Readonly<Record<string, string>> = {}): Promise<string> {
  const result = await build({
    root: ROOT,
    configFile: false,
    envDir: false,
    logLevel: 'warn',
    define: Object.fromEntries(Object.entries(defined).map(([name, value]) => [name, JSON.stringify(value)])),
    build: {
      write: false,
      minify: false,
      rollupOptions: { input: entry, output: { format: 'iife', name: 'bundle' }, preserveEntrySignatures: 'strict' },
    },
  })
  const outputs = [result].flat().flatMap((each) => ('output' in each ? each.output : []))
  const chunk = outputs.find((output) => output.type === 'chunk')
  if (chunk === undefined) throw new Error(`${entry} gave no script`)
  return chunk.code
}
