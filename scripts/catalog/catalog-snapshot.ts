import type { Sql, TransactionSql } from 'postgres'
import { CATALOG_QUERIES } from './catalog-queries.ts'

type Json = null | boolean | number | string | Json[] | { [key: string]: Json }

/** Everything a migration can create, by kind, then by the object's name. Equal databases give equal snapshots. */
export type CatalogSnapshot = Readonly<Record<string, Readonly<Record<string, Json>>>>

/** One object that two snapshots do not agree about; `undefined` where one of them has no such object. */
export interface CatalogDifference {
  readonly kind: string
  readonly id: string
  readonly left: Json | undefined
  readonly right: Json | undefined
}

/**
 * Takes a snapshot of one database's catalog, in one transaction, with the empty search path that spells names out.
 * `inOpenTransaction` reads what a transaction on a one-connection client has done and not yet committed.
 */
export async function takeCatalogSnapshot(
  sql: Sql,
  { inOpenTransaction = false }: { inOpenTransaction?: boolean } = {},
): Promise<CatalogSnapshot> {
  if (inOpenTransaction) return await readCatalog(sql)
  return (await sql.begin('isolation level repeatable read read only', readCatalog)) as CatalogSnapshot
}

async function readCatalog(sql: Sql | TransactionSql): Promise<CatalogSnapshot> {
  await sql`set local search_path = ''`
  const snapshot: Record<string, Json> = {}
  for (const [kind, query] of Object.entries(CATALOG_QUERIES)) {
    const rows = await sql.unsafe<{ id: string; facts: Json }[]>(query)
    snapshot[kind] = Object.fromEntries(rows.map((row) => [row.id, row.facts]))
  }
  return sorted(snapshot) as Record<string, Record<string, Json>>
}

/** The snapshot as text with sorted keys: for a file, a hash or a plain diff. */
export function snapshotText(snapshot: CatalogSnapshot): string {
  return `${JSON.stringify(snapshot, null, 2)}\n`
}

/** What two snapshots do not agree about; nothing for equal ones. */
export function compareSnapshots(left: CatalogSnapshot, right: CatalogSnapshot): CatalogDifference[] {
  const kinds = [...new Set([...Object.keys(left), ...Object.keys(right)])].sort()
  return kinds.flatMap((kind) => {
    const lefts = left[kind] ?? {}
    const rights = right[kind] ?? {}
    return [...new Set([...Object.keys(lefts), ...Object.keys(rights)])]
      .sort()
      .filter((id) => JSON.stringify(lefts[id]) !== JSON.stringify(rights[id]))
      .map((id) => ({ kind, id, left: lefts[id], right: rights[id] }))
  })
}

/** One difference in words: which object, and which of its facts. */
export function describeDifference(difference: CatalogDifference, names: { left: string; right: string }): string {
  const { kind, id, left, right } = difference
  if (left === undefined) return `${kind} ${id}: only in ${names.right}`
  if (right === undefined) return `${kind} ${id}: only in ${names.left}`
  const lefts = left as Record<string, Json>
  const rights = right as Record<string, Json>
  const facts = Object.keys({ ...lefts, ...rights }).filter(
    (fact) => JSON.stringify(lefts[fact]) !== JSON.stringify(rights[fact]),
  )
  return facts
    .map(
      (fact) =>
        `${kind} ${id}: ${fact}\n  ${names.left}: ${show(lefts[fact])}\n  ${names.right}: ${show(rights[fact])}`,
    )
    .join('\n')
}

function show(value: Json | undefined): string {
  return value === undefined ? '(none)' : typeof value === 'string' ? value : JSON.stringify(value)
}

function sorted(value: Json): Json {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.keys(value)
      .sort()
      .map((key) => [key, sorted(value[key] ?? null)]),
  )
}
