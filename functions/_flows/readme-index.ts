import { defineWorkers, Flow, withStepQueues } from '@starflow/dsl'
import { checkLink } from './readme-index/check-link.ts'
import type { DocumentInput, Link } from './readme-index/document.ts'
import { extractKeywords } from './readme-index/extract-keywords.ts'
import { parseDocument } from './readme-index/parse-document.ts'
import { resolveLinks } from './readme-index/resolve-links.ts'
import { reportBrokenLinks, storeDocument } from './readme-index/store-document.ts'
import { summarizeLinks } from './readme-index/summarize-links.ts'

/*
 * Indexes one Markdown document for full-text search and checks its links.
 *
 *   parse ─┬─ links ── checkLinks (one task per link) ── summary ─┐
 *          ├─ keywords ─┐                                         ├─ report (only if a link is broken)
 *          └────────────┴─ index ─────────────────────────────────┘
 *
 * Every handler may run twice for the same task, so the two that write replace what they find.
 * Timeouts are short and attempts many: work of a killed worker comes back half a minute later.
 */
const flow = new Flow<DocumentInput>({ slug: 'readmeIndexV1', maxAttempts: 10, baseDelay: 1, timeout: 5 })
  .step({ slug: 'parse' }, (document) => parseDocument(document))
  .array({ slug: 'links', dependsOn: ['parse'], timeout: 3 }, ({ parse }) => resolveLinks(parse))
  .map({ slug: 'checkLinks', array: 'links', timeout: 3 }, (link: Link, ctx) => checkLink(link, () => ctx.flowInput))
  .step({ slug: 'keywords', dependsOn: ['parse'], timeout: 3 }, ({ parse }) => extractKeywords(parse))
  .step({ slug: 'index', dependsOn: ['parse', 'keywords'] }, async ({ parse, keywords }, ctx) => {
    await storeDocument(ctx.sql, ctx.stepTask.run_id, parse, keywords)
    return { documentId: parse.identity.id }
  })
  .step({ slug: 'summary', dependsOn: ['checkLinks'], timeout: 3 }, ({ checkLinks }) => summarizeLinks(checkLinks))
  .step(
    { slug: 'report', dependsOn: ['summary', 'checkLinks', 'index'], if: { summary: { hasBroken: true } } },
    async ({ checkLinks, index }, ctx) => ({
      reported: await reportBrokenLinks(ctx.sql, ctx.stepTask.run_id, index.documentId, checkLinks),
    }),
  )

export const readmeIndex = withStepQueues(flow)

export const workers = defineWorkers(readmeIndex, {
  parse: { maxConcurrent: 4, batchSize: 4 },
  checkLinks: { maxConcurrent: 20, batchSize: 20 },
})
