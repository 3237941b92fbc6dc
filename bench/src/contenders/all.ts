import type { Contender } from '../contender.ts'
import { dbos } from './dbos.ts'
import { graphileWorker } from './graphile-worker.ts'
import { pgBoss } from './pg-boss.ts'
import { starflowSql } from './starflow-sql.ts'

/** Each peer at its defaults, and in its fast configuration. */
export const CONTENDERS: readonly Contender[] = [
  starflowSql(),
  graphileWorker({ isTuned: false }),
  graphileWorker({ isTuned: true }),
  pgBoss({ isTuned: false }),
  pgBoss({ isTuned: true }),
  dbos({ isQueued: false }),
  dbos({ isQueued: true }),
]
