import { surviveClosedPipes } from './output/closed-pipe.ts'
import { runCommandLine } from './program.ts'

const LAST_WORDS_MS = 2000

surviveClosedPipes()
process.exitCode = await runCommandLine(process.argv.slice(2))
// A command that has ended ends its process, also where a handler goes on whose run was left to others; but not before all that
// it has said is written.
process.stdout.write('', () => process.stderr.write('', () => process.exit()))
// Nor is a reader that stands still waited for without an end.
setTimeout(() => process.exit(), LAST_WORDS_MS)
