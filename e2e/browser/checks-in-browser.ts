/** Gives a page the checks of the client, one at a time. */
import { type ClientFacts, problemOf } from '../../packages/client/tests/checks/client-check.ts'
import { clientChecks } from '../../packages/client/tests/checks/client-checks.ts'

Object.assign(globalThis, {
  runCheck: async (title: string, facts: ClientFacts) => {
    const check = clientChecks.find((each) => each.title === title)
    return check === undefined ? `there is no check "${title}"` : ((await problemOf(check, facts)) ?? null)
  },
})
