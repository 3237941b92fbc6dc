import { type AnyFlow, inputProblem, type Json } from '@starflow/dsl'
import { alertSecretProblems } from '../alerts/check-alerts.ts'
import type { Declarations } from './declarations.ts'
import {
  type FilePath,
  type FileProblem,
  inOrder,
  type LocatedProblem,
  type ReadDeclarations,
} from './read-declarations.ts'
import { secretProblem } from './signing-secret.ts'

/** What the file is held against. */
export interface DeclarationContext {
  /** Flows in code: an input of a trigger must match their schema. */
  readonly flows: readonly AnyFlow[]
  /** Flows that are compiled in the database, and need not be in code. */
  readonly compiledFlows: readonly string[]
  /** Where the secrets of webhooks are; undefined: nobody here verifies signatures. */
  readonly env: Readonly<Record<string, string | undefined>> | undefined
}

/** What the file cannot know by itself: flows that do not exist, pools that are not declared, secrets that are not set. */
export async function checkDeclarations(
  { declarations, problemAt }: Pick<ReadDeclarations, 'declarations' | 'problemAt'>,
  context: DeclarationContext,
): Promise<readonly FileProblem[]> {
  if (declarations === undefined) return []
  const found = [
    ...unknownFlows(declarations, context),
    ...placementProblems(declarations),
    ...(await inputProblems(declarations, context)),
    ...deliveryProblems(declarations),
    ...secretProblems(declarations, context),
    ...unknownAlertFlows(declarations, context),
    ...(context.env === undefined ? [] : alertSecretProblems(declarations, context.env)),
  ]
  return inOrder(found.map(({ path, message }) => problemAt(path, message)))
}

type Start = { readonly flow: string; readonly pool?: string | undefined; readonly placement?: string | undefined }

function startsOf({ triggers, webhooks }: Declarations): { readonly path: FilePath; readonly start: Start }[] {
  return [
    ...Object.entries(triggers).map(([name, start]) => ({ path: ['triggers', name], start })),
    ...Object.entries(webhooks).map(([name, start]) => ({ path: ['webhooks', name], start })),
  ]
}

function unknownFlows(declarations: Declarations, { flows, compiledFlows }: DeclarationContext): LocatedProblem[] {
  const known = [...new Set([...flows.map(({ slug }) => slug), ...compiledFlows])].sort()
  return startsOf(declarations)
    .filter(({ start }) => !known.includes(start.flow))
    .map(({ path, start }) => ({
      path: [...path, 'flow'],
      message: `there is no flow "${start.flow}". ${known.length === 0 ? 'No flow is known.' : `Known: ${known.join(', ')}.`}`,
    }))
}

function unknownAlertFlows({ alerts }: Declarations, { flows, compiledFlows }: DeclarationContext): LocatedProblem[] {
  const known = [...flows.map(({ slug }) => slug), ...compiledFlows]
  const named = (alerts?.rules.failedRuns || undefined)?.flows ?? []
  return named.flatMap((flow, index) =>
    known.includes(flow)
      ? []
      : [{ path: ['alerts', 'rules', 'failedRuns', 'flows', index], message: `there is no flow "${flow}".` }],
  )
}

function placementProblems(declarations: Declarations): LocatedProblem[] {
  const pools = Object.keys(declarations.pools)
  return startsOf(declarations).flatMap(({ path, start: { pool, placement } }) => {
    if (pool === undefined) return []
    const at = [...path, 'pool']
    return [
      ...(pools.includes(pool) ? [] : [{ path: at, message: `"${pool}" is not one of pools.` }]),
      ...(placement === 'queue' ? [{ path: at, message: 'a pool is for runners, and placement is queue.' }] : []),
    ]
  })
}

async function inputProblems({ triggers }: Declarations, { flows }: DeclarationContext): Promise<LocatedProblem[]> {
  const problems: LocatedProblem[] = []
  for (const [name, { flow, input }] of Object.entries(triggers)) {
    const schema = flows.find(({ slug }) => slug === flow)?.input
    const problem = schema === undefined ? null : await inputProblem(schema, input as Json)
    if (problem !== null) {
      problems.push({ path: ['triggers', name, 'input'], message: `does not match the schema of its flow: ${problem}` })
    }
  }
  return problems
}

function deliveryProblems({ webhooks }: Declarations): LocatedProblem[] {
  return Object.entries(webhooks)
    .filter(([, { signature, delivery }]) => signature.scheme === 'hmac' && delivery === undefined)
    .map(([name]) => ({
      path: ['webhooks', name, 'delivery'],
      message: 'is missing: with scheme hmac nothing else says what names a delivery.',
    }))
}

function secretProblems({ webhooks }: Declarations, { env }: DeclarationContext): LocatedProblem[] {
  if (env === undefined) return []
  return Object.entries(webhooks).flatMap(([name, { signature }]) =>
    signature.secrets.flatMap((variable, index) => {
      const problem = secretProblem(variable, env[variable]?.trim() ?? '', signature.scheme)
      return problem === undefined
        ? []
        : [{ path: ['webhooks', name, 'signature', 'secrets', index], message: problem }]
    }),
  )
}
