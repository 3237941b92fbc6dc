import { runCommandLine } from './program.ts'

process.exitCode = await runCommandLine(process.argv.slice(2))
