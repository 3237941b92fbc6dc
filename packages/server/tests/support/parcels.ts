import { Flow } from '@starflow/dsl'

/** What none of its spans may repeat. */
export const PAYLOAD = 'a parcel of which no span may speak'

/** Two steps, of which the second one fails where it is told to. `within` does some work of the first one within a span of the user's. */
export function parcels(within: (work: (span: { end(): void }) => string) => string) {
  return new Flow<{ note: string; isBroken?: boolean }>({ slug: 'parcelsV1', maxAttempts: 1 })
    .step({ slug: 'pack' }, ({ note, isBroken = false }) =>
      within((span) => {
        span.end()
        return isBroken ? 'broken' : `${note}, packed`
      }),
    )
    .step({ slug: 'ship', dependsOn: ['pack'] }, ({ pack }) => {
      if (pack === 'broken') throw new TypeError(PAYLOAD)
      return pack
    })
}
