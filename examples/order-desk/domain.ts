import type postgres from 'postgres'

/** A connection, or a transaction on one. */
export type Sql = postgres.Sql | postgres.TransactionSql

/** The payment provider and the carrier. Both take the order's id as the key of idempotency: asked twice, they answer the same. */
export interface Providers {
  charge(orderId: string, amount: number): Promise<string>
  ship(orderId: string): Promise<string>
}

/** Asking again cannot help. */
export class CardRefusedError extends Error {
  override name = 'CardRefusedError'
}

export async function saveOrder(sql: Sql, amount: number): Promise<string> {
  const [order] = await sql<[{ id: string }]>`insert into desk.orders (amount) values (${amount}) returning id`
  return order.id
}

/** placed → paid. Done again, it changes nothing. */
export async function payOrder(sql: Sql, providers: Providers, orderId: string): Promise<void> {
  const [order] = await sql<{ amount: number }[]>`
    select amount from desk.orders where id = ${orderId} and status = 'placed'`
  if (order === undefined) return
  const chargeId = await providers.charge(orderId, order.amount)
  await sql`
    update desk.orders set status = 'paid', charge_id = ${chargeId} where id = ${orderId} and status = 'placed'`
}

/** paid → shipped. Done again, it changes nothing. */
export async function shipOrder(sql: Sql, providers: Providers, orderId: string): Promise<void> {
  const [order] = await sql`select from desk.orders where id = ${orderId} and status = 'paid'`
  if (order === undefined) return
  const parcelId = await providers.ship(orderId)
  await sql`
    update desk.orders set status = 'shipped', parcel_id = ${parcelId} where id = ${orderId} and status = 'paid'`
}

/** placed or paid → failed. */
export async function giveUpOrder(sql: Sql, orderId: string, failure: string): Promise<void> {
  await sql`
    update desk.orders set status = 'failed', failure = ${failure}
    where id = ${orderId} and status in ('placed', 'paid')`
}
