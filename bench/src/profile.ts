// Where a step's time goes inside Postgres: `npx tsx bench/src/profile.ts [batch] [runs]`. A tool for who changes the SQL.
import { BenchCluster } from './cluster.ts'
import { starflowSql } from './contenders/starflow-sql.ts'
import { Progress } from './measure/progress.ts'

const batch = Number(process.argv[2] ?? 1)
const runs = Number(process.argv[3] ?? 1000)

const cluster = await BenchCluster.start({
  shared_preload_libraries: 'pg_stat_statements',
  track_functions: 'all',
  'pg_stat_statements.track': 'all',
})
try {
  const progress = new Progress()
  const session = await starflowSql().open(cluster, { steps: 3, clients: 1, batch }, progress)
  const sql = cluster.superuser(session.database)
  await sql`create extension if not exists pg_stat_statements`
  await session.start!(200)
  await session.startWorkers()
  await progress.until(200, 60_000)
  await session.stopWorkers()
  progress.reset()
  await session.start!(runs)
  await sql`select pg_stat_reset(), pg_stat_statements_reset()`
  await session.startWorkers()
  await progress.until(runs, 600_000)
  await session.stopWorkers()
  await new Promise((resolve) => setTimeout(resolve, 1500))
  const steps = runs * 3
  const functions = await sql<{ name: string; calls: string; self: number; total: number }[]>`
    select schemaname || '.' || funcname as name, calls, self_time as self, total_time as total from pg_stat_user_functions
    order by self_time desc limit 30`
  console.log(`batch ${batch}, ${steps} steps; µs per step`)
  console.log('   self   total   calls/step  function')
  for (const { name, calls, self, total } of functions) {
    console.log(`${us(self)} ${us(total)} ${(Number(calls) / steps).toFixed(3).padStart(10)}  ${name}`)
  }
  const statements = await sql<{ query: string; calls: string; total: number; plan: number }[]>`
    select regexp_replace(query, '\\s+', ' ', 'g') as query, calls, total_exec_time as total, total_plan_time as plan
    from pg_stat_statements order by total_exec_time desc limit 30`
  console.log('  total   calls/step  statement (with what it calls)')
  for (const { query, calls, total } of statements) {
    console.log(`${us(total)} ${(Number(calls) / steps).toFixed(3).padStart(10)}  ${query.slice(0, 150)}`)
  }
  await sql.end()
  await session.close()

  function us(milliseconds: number): string {
    return ((milliseconds * 1000) / steps).toFixed(1).padStart(7)
  }
} finally {
  await cluster.stop()
}
