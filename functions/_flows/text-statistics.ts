import { Flow } from '@starflow/dsl'
import { countText, describeText, readingLevel } from './text-statistics/count-text.ts'

/**
 * A plain flow: one queue and one worker for all steps. Counts a text in two ways at once and puts both into a sentence.
 *
 * @example select pgflow.start_flow('textStatisticsV1', '{"text": "Small is beautiful."}');
 */
export const textStatistics = new Flow<{ text: string }>({ slug: 'textStatisticsV1', maxAttempts: 3, timeout: 5 })
  .step({ slug: 'count' }, ({ text }) => countText(text))
  .step({ slug: 'readability' }, ({ text }) => readingLevel(text))
  .step({ slug: 'describe', dependsOn: ['count', 'readability'] }, ({ count, readability }) =>
    describeText(count, readability),
  )
