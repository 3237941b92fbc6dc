import { surviveClosedPipes } from './output/closed-pipe.ts'
import { runCommandLine } from './program.ts'

surviveClosedPipes()
process.exitCode = await runCommandLine(process.argv.slice(2))
