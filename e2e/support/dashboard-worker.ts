// The worker of one step queue of an order, as a process of its own: a test can kill it. Its environment says which database it
// works on; it ends with its standard input too, since the test's process may be gone without a word.
import { EdgeWorker } from '@starflow/edge-worker'
import { Gate, orders } from './dashboard-flows.ts'

const [queueName] = process.argv.slice(2)
process.stdin.on('end', () => process.exit(1)).resume()
process.stdin.unref()

const definition = orders({ payment: new Gate(), isBankThere: true })
const route = definition.routes.find((each) => each.queueName === queueName)
if (route === undefined) throw new Error('Usage: dashboard-worker.ts QUEUE')
EdgeWorker.start(definition, { stepSlug: route.stepSlug })
