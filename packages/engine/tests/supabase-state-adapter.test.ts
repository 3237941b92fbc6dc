import { vi } from 'vitest'
import { testDatabase } from '../../../tests/support/test-database.ts'
import { describeEveryTopic } from './conformance/every-topic.ts'
import { supabaseStores } from './support/supabase-stores.ts'

// A call is a request, and topics make up to 1100: on a busy computer that takes a while.
vi.setConfig({ testTimeout: 120_000 })

const database = await testDatabase()
const stores = await supabaseStores(database)

describeEveryTopic(stores)
