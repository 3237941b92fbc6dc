import { describeEveryTopic } from './conformance/every-topic.ts'
import { localStores } from './support/local-store.ts'

describeEveryTopic(localStores)
