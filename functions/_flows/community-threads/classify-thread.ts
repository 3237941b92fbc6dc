/** One thread of a community forum: the flow input. */
export type Thread = { id: string; title: string; body: string; author: string; url?: string }

export type Classification = { route: 'help' | 'showcase' | 'discussion'; reason: string }

const RULES: readonly { route: Classification['route']; pattern: RegExp; reason: string }[] = [
  {
    route: 'showcase',
    pattern: /\b(i (built|made|wrote)|show(case| and tell)|introducing|release[ds]?)\b/i,
    reason: 'shows work',
  },
  {
    route: 'help',
    pattern:
      /\b(error|exception|fail(s|ed|ing)?|crash(es|ed)?|broken|bug|stuck|cannot|can't|doesn't|not working|help)\b/i,
    reason: 'names a problem',
  },
  { route: 'help', pattern: /^(how|why|what|where|when|is|are|can|does|do|should)\b.*\?/i, reason: 'asks a question' },
]

/** The first rule that fits the title decides, then the first that fits the body; the rest is discussion. */
export function classifyThread(thread: Pick<Thread, 'title' | 'body'>): Classification {
  for (const text of [thread.title, thread.body]) {
    const rule = RULES.find(({ pattern }) => pattern.test(text.trim()))
    if (rule !== undefined) return { route: rule.route, reason: rule.reason }
  }
  return { route: 'discussion', reason: 'no rule fits' }
}
