import { createOutput } from '../../src/output/output.ts'
import { askYesOrNo } from '../../src/output/question.ts'

/** Asks one question as a command does, and ends with what came of it. */
console.log(`process ${process.pid}`)
try {
  console.log(`answered ${await askYesOrNo(createOutput({ json: false }), 'Remove?')}`)
} catch (error) {
  process.exitCode = (error as { exitCode?: number }).exitCode ?? 1
}
