import { Flow } from '@starflow/dsl'

/** Two steps, one after the other. */
const greet = new Flow<{ name: string }>({ slug: 'greetV1' })
  .step({ slug: 'compose' }, ({ name }) => `Hello ${name}`)
  .step({ slug: 'shout', dependsOn: ['compose'] }, ({ compose }) => compose.toUpperCase())

/** Fails each time it is tried. */
const broken = new Flow<{ name: string }>({ slug: 'brokenV1', maxAttempts: 1 }).step({ slug: 'try' }, (): string => {
  throw new Error('no paper')
})

/** Waits for a decision. */
const approval = new Flow<{ name: string }>({ slug: 'approvalV1' })
  .step({ slug: 'ask' }, ({ name }) => name)
  .wait({ slug: 'decide', dependsOn: ['ask'] })

export const flows = [greet, broken, approval]
