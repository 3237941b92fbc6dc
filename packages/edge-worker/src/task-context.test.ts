import { expect, test } from 'vitest'
import { stepContext } from './task-context.ts'

const task = {
  ...{ flowSlug: 'orders', runId: 'r', stepSlug: 'pay', taskIndex: 0, messageId: '1', attempt: 1 },
} as Parameters<typeof stepContext>[0]
const resources = { env: {}, emit: () => {}, flowInput: async () => null } as unknown as Parameters<
  typeof stepContext
>[2]

test.each(['session', 'variables', 'phase', 'progress', 'workerJob'])(
  'a handler that asks for what only runs on runners have (%s) fails for good, with a sentence that says so',
  (name) => {
    const context = stepContext(task, new AbortController().signal, resources) as unknown as Record<string, unknown>
    expect(() => context[name]).toThrow(
      expect.objectContaining({
        ...{ name: 'NonRetryableError', code: 'SF816' },
        message: `ctx.${name} is not there: this run is on step queues, and only runs on runners have it.`,
      }),
    )
    expect(Object.keys(context)).not.toContain(name)
  },
)
