import type { Scenario } from '../scenario.ts'
import { chain, jobs } from './chain.ts'

export const SCENARIOS: readonly Scenario[] = [chain, jobs]
