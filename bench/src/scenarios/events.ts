import { starflowSql } from '../contenders/starflow-sql.ts'
import { burnDown } from '../measure/burn-down.ts'
import { COLUMNS } from '../report/column.ts'
import { interleave } from '../rounds.ts'
import type { Scenario } from '../scenario.ts'

/** One run in so many is watched. */
const WATCHED_EVERY = 100

export const events: Scenario = {
  name: 'events',
  title: 'Events',
  about:
    'The chain of 3 steps, 4 clients, by the setting `events`: off; watched (the default) while nobody watches, and while one run in a hundred is watched; all.',
  columns: [
    COLUMNS.stepsPerSecond,
    COLUMNS.walPerStep,
    COLUMNS.allInWalPerStep,
    COLUMNS.postgresUsPerStep,
    COLUMNS.hotRatio,
  ],
  run: (bench) => {
    const { cluster, scale } = bench
    const variants = [
      { events: 'off', contender: starflowSql({ coreSettings: { events: 'off' } }) },
      { events: 'watched, by nobody', contender: starflowSql({ coreSettings: { events: 'watched' } }) },
      {
        events: 'watched, 1 %',
        contender: starflowSql({
          coreSettings: { events: 'watched' },
          onStarted: async (sql, runIds) => {
            const watched = runIds.filter((_, index) => index % WATCHED_EVERY === 0)
            await sql`insert into pgflow.watched_runs (run_id, watched_until)
              select id, now() + interval '1 hour' from unnest(${watched}::uuid[]) id on conflict do nothing`
          },
        }),
      },
      { events: 'all', contender: starflowSql({ coreSettings: { events: 'all' } }) },
    ]
    return interleave(
      bench,
      scale.pick([1, 10, 50], [10]).flatMap((batch) =>
        variants.map(({ events: setting, contender }) => ({
          labels: { batch, events: setting },
          measure: () =>
            burnDown(
              cluster,
              contender,
              { steps: 3, clients: 4, batch },
              { seconds: scale.seconds, limitSeconds: scale.limitSeconds },
            ),
        })),
      ),
    )
  },
}
