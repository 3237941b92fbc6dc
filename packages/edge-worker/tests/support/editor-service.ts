import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const path = fileURLToPath(new URL('./editor.ts', import.meta.url))
const configPath = fileURLToPath(new URL('../../tsconfig.json', import.meta.url))
const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} }
const { options } = ts.getParsedCommandLineOfConfigFile(configPath, {}, host)!

let text = ''
let version = 0

const service = ts.createLanguageService({
  ...ts.sys,
  useCaseSensitiveFileNames: () => ts.sys.useCaseSensitiveFileNames,
  getCompilationSettings: () => options,
  getScriptFileNames: () => [path],
  getScriptVersion: (file) => (file === path ? String(version) : '0'),
  getScriptSnapshot: (file) => {
    if (file === path) return ts.ScriptSnapshot.fromString(text)
    return ts.sys.fileExists(file) ? ts.ScriptSnapshot.fromString(readFileSync(file, 'utf8')) : undefined
  },
  getCurrentDirectory: () => process.cwd(),
  getDefaultLibFileName: ts.getDefaultLibFilePath,
})

const IMPORTS = `import { defineWorkers, Flow, type AnyFlow, type StepQueuedFlow, withStepQueues } from '@starflow/dsl'
import { EdgeWorker, type StartArguments, type Startable } from '../../src/index.ts'
`

function open(program: string): void {
  text = IMPORTS + program
  version += 1
}

/** What an editor offers at the end of a program, which has the names of the packages for flows and workers. */
export function completionsAt(program: string): string[] {
  open(program)
  return (service.getCompletionsAtPosition(path, text.length, {})?.entries ?? []).map(({ name }) => name)
}

/** What an editor shows over the last occurrence of a word. */
export function hoverOf(program: string, word: string): string {
  open(program)
  return ts.displayPartsToString(service.getQuickInfoAtPosition(path, text.lastIndexOf(word))?.displayParts)
}

/** What the compiler says of a program, each error as one text. */
export function errorsOf(program: string): string[] {
  open(program)
  return service
    .getSemanticDiagnostics(path)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, '\n'))
}
