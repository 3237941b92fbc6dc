#!/usr/bin/env node
const isInspected = process.execArgv.some((option) => option.startsWith('--inspect'))

if (process.argv[2] === 'run' && process.env.STARFLOW_RUN_GUARD === undefined && !isInspected) {
  await import('./guarded-run.mjs')
} else {
  // Flows and starflow.config.ts are TypeScript: tsx reads them in this process, without a build.
  const { register } = await import('tsx/esm/api')
  register()
  await import('../src/main.ts')
}
