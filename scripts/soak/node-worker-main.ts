// A worker of the plain flow in Node. It ends with its standard input: the soak may be gone without a word.
import { EdgeWorker } from '@starflow/edge-worker'

process.stdin.on('end', () => process.exit(1)).resume()
process.stdin.unref()

const { soakPlain }: typeof import('./flows/soak-plain.ts') = await import(process.argv[2]!)
EdgeWorker.start(soakPlain)
