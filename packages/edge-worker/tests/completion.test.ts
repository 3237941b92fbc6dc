import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const path = fileURLToPath(new URL('./support/editor.ts', import.meta.url))
const configPath = fileURLToPath(new URL('../tsconfig.json', import.meta.url))

/** What an editor offers at the end of a text. */
function completionsAt(text: string): string[] {
  const { options } = ts.getParsedCommandLineOfConfigFile(
    configPath,
    {},
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: () => {},
    },
  )!
  const service = ts.createLanguageService({
    ...ts.sys,
    useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
    getCompilationSettings: () => options,
    getScriptFileNames: () => [path],
    getScriptVersion: () => '1',
    getScriptSnapshot: (file) => {
      if (file === path) return ts.ScriptSnapshot.fromString(text)
      return ts.sys.fileExists(file) ? ts.ScriptSnapshot.fromString(readFileSync(file, 'utf8')) : undefined
    },
    getCurrentDirectory: () => process.cwd(),
    getDefaultLibFileName: ts.getDefaultLibFilePath,
  })
  return (service.getCompletionsAtPosition(path, text.length, {})?.entries ?? []).map(({ name }) => name)
}

test('an editor completes stepSlug with the steps of the flow', () => {
  const text = `
    import { Flow, withStepQueues } from '@starflow/dsl'
    import { EdgeWorker } from '../../src/index.ts'
    const flow = new Flow({ slug: 'threads' }).step({ slug: 'classify' }, () => 1).step({ slug: 'deliver' }, () => 2)
    EdgeWorker.start(withStepQueues(flow), { stepSlug: '`
  expect(completionsAt(text)).toEqual(['classify', 'deliver'])
})
