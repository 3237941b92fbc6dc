/**
 * Registers an OpenTelemetry SDK where the environment asks for traces: `import '@starflow/tracing/register'`, before anything else. For worker
 * functions and processes; the server and the command line do it by themselves.
 */
import process from 'node:process'
import { startTracing } from './sdk.ts'

await startTracing(process.env, 'starflow-worker')
