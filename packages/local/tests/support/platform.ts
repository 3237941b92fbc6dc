import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { onTestFinished } from 'vitest'
import {
  createLocalPlatform,
  type LocalPlatformOptions,
  type PlatformEvent,
} from '../../src/platform/local-platform.ts'
import { EventLog } from './event-log.ts'
import { temporaryFolder } from './temporary-folder.ts'

/** Starts a platform in a folder of its own, which ends with the test. */
export async function startPlatform(options: LocalPlatformOptions = {}) {
  const log = new EventLog<PlatformEvent>()
  const platform = await createLocalPlatform({
    dataDir: join(temporaryFolder(), 'data'),
    postgres: { fsync: false, cacheDir: join(tmpdir(), 'starflow-test-postgres') },
    onEvent: log.record,
    ...options,
  })
  onTestFinished(() => platform.dispose())
  return { platform, log }
}
