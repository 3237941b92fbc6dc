import { inTransaction } from '@starflow/core'
import { StarflowError } from '@starflow/errors'
import { connect } from '../database/open-database.ts'

/**
 * Holds worker functions for one rollout or deploy while `work` runs. The lock is a transaction's, on a connection of its
 * own that does nothing else: it works through a transaction pooler, pins no snapshot, and ends with this process however
 * that ends.
 *
 * @throws StarflowError SF632 when another one holds one of the functions, by its name
 */
export async function withRolloutLock<T>(
  lock: { readonly url: string; readonly functionNames: readonly string[]; readonly holder: string },
  work: () => Promise<T>,
): Promise<T> {
  const sql = connect(lock.url, lock.holder.slice(0, 63), 1)
  try {
    return await inTransaction(sql, async (transaction) => {
      await transaction`set local idle_in_transaction_session_timeout = 0`
      const taken = await transaction<{ name: string; holder: string | null }[]>`
        with wanted as (
          select name, hashtext('pgflow.rollout') as space, hashtext(name) as key
          from unnest(${[...lock.functionNames]}::text[]) as name
        ), refused as materialized (
          select * from wanted where not pg_try_advisory_xact_lock(space, key)
        )
        select r.name, (
          select a.application_name from pg_locks l join pg_stat_activity a on a.pid = l.pid
          where l.locktype = 'advisory' and l.granted and l.database = (select oid from pg_database where datname = current_database())
            and l.classid::bigint = r.space::bigint & 4294967295 and l.objid::bigint = r.key::bigint & 4294967295 and l.pid <> pg_backend_pid()
          limit 1) as holder
        from refused r order by r.name`
      if (taken.length > 0) throw overlap(lock.holder, taken)
      return work()
    })
  } finally {
    await sql.end({ timeout: 1 })
  }
}

function overlap(own: string, taken: readonly { name: string; holder: string | null }[]): StarflowError {
  const holders = [...new Set(taken.map((each) => each.holder ?? 'another rollout or deploy'))]
  return new StarflowError({
    code: 'SF632',
    message: `"${own}" overlaps with "${holders.join('", "')}".`,
    detail: `It is at work on ${taken.map((each) => each.name).join(', ')}. Nothing was changed.`,
    hint: 'Wait until it is done, then run this again.',
    fields: { holders, functionNames: taken.map((each) => each.name) },
  })
}
