import { fileURLToPath } from 'node:url'
import ts from 'typescript'
import { expect, test } from 'vitest'

const GENERATED = fileURLToPath(new URL('../../../functions/communitythreadsv1__classify/index.ts', import.meta.url))
const CONFIG = fileURLToPath(new URL('../tsconfig.json', import.meta.url))

// The packages are sources without a build step: whoever imports them compiles them with options of their own.
test('a generated function compiles, with all that it imports of ours, under options that go beyond strict', () => {
  const host = { ...ts.sys, onUnRecoverableConfigFileDiagnostic: () => {} }
  const { options } = ts.getParsedCommandLineOfConfigFile(CONFIG, {}, host)!
  const program = ts.createProgram([GENERATED], {
    ...options,
    ...{ exactOptionalPropertyTypes: true, noPropertyAccessFromIndexSignature: true },
  })
  const errors = program
    .getSourceFiles()
    .filter(({ fileName }) => /\/packages\/[\w-]+\/src\//.test(fileName) || fileName === GENERATED)
    .flatMap((file) => program.getSemanticDiagnostics(file))
    .map(({ file, messageText }) => `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, '\n')}`)
  expect(errors).toEqual([])
}, 600_000)
