import process from 'node:process'
import { openConnections } from '../../src/worker-connections.ts'

/** Reads an array as a handler does, twice: the connection is lost under the first query. argv: the database's URL. */
const { handlers: sql, close } = openConnections({ databaseUrl: process.argv.at(-1) }, 2, 'array reader')
await sql!`select 1`.catch((error: { code?: string }) => console.log(`lost: ${error.code}`))
const [row] = await sql!`select array['a', 'b'] as list`
console.log(`read: ${JSON.stringify(row!.list)}`)
await close(1_000)
