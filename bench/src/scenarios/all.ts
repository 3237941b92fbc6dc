import type { Scenario } from '../scenario.ts'
import { chain, jobs } from './chain.ts'
import { workers } from './workers.ts'

export const SCENARIOS: readonly Scenario[] = [chain, jobs, workers]
