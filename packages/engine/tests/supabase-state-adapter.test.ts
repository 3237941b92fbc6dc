import { testDatabase } from '../../../tests/support/test-database.ts'
import { describeEveryTopic } from './conformance/every-topic.ts'
import { supabaseStores } from './support/supabase-stores.ts'

const database = await testDatabase()
const stores = await supabaseStores(database)

describeEveryTopic(stores)
