import type { LinkCheck, LinkSummary } from './document.ts'

/** `checked` counts the links whose state is known; the web is not fetched and does not count. */
export function summarizeLinks(checks: readonly LinkCheck[]): LinkSummary {
  const checked = checks.filter((check) => check.status !== 'unchecked').length
  const broken = checks.filter((check) => check.status === 'broken').length
  return { checked, broken, hasBroken: broken > 0 }
}
