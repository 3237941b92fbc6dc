/** A part of the repository and what it may import. */
export interface Room {
  /** Folder from the root, with a slash at the end. */
  readonly folder: string
  /** Packages of ours that it may import. */
  readonly mayImport: readonly string[]
  /** Rooms of which it may import types only. */
  readonly mayImportTypesOf?: readonly string[]
  /** What it imports ends in files of its own making, so that development dependencies do. */
  readonly isBundled?: boolean
  /** Third-party packages that only files under one folder of the room may import. */
  readonly confined?: { readonly packages: readonly string[]; readonly to: string; readonly why: string }
}

const DATABASE_DRIVERS = ['postgres', 'pg', 'libsql', 'better-sqlite3', 'node:sqlite', '@supabase/supabase-js']

/** Which room may import which package of ours. `errors` is a leaf; nothing imports `cli`. */
export const ROOMS: Readonly<Record<string, Room>> = {
  errors: { folder: 'packages/errors/', mayImport: [] },
  tracing: { folder: 'packages/tracing/', mayImport: ['errors'] },
  dsl: { folder: 'packages/dsl/', mayImport: ['errors'] },
  core: { folder: 'packages/core/', mayImport: ['errors', 'dsl'] },
  'edge-worker': { folder: 'packages/edge-worker/', mayImport: ['errors', 'tracing', 'dsl', 'core'] },
  functions: { folder: 'functions/', mayImport: ['errors', 'tracing', 'dsl', 'core', 'edge-worker'] },
  engine: {
    folder: 'packages/engine/',
    mayImport: ['errors', 'tracing', 'dsl'],
    // Its adapters are given the connections that they use.
    mayImportTypesOf: ['core'],
    confined: {
      packages: DATABASE_DRIVERS,
      to: 'src/adapters/',
      why: 'the engine reaches a database through its port',
    },
  },
  testing: { folder: 'packages/testing/', mayImport: ['errors', 'dsl', 'engine'] },
  client: { folder: 'packages/client/', mayImport: ['errors'], mayImportTypesOf: ['dsl'] },
  dashboard: {
    folder: 'packages/dashboard/',
    mayImport: ['errors', 'client'],
    mayImportTypesOf: ['dsl'],
    isBundled: true,
  },
  server: { folder: 'packages/server/', mayImport: ['errors', 'tracing', 'dsl', 'core', 'engine', 'dashboard'] },
  local: { folder: 'packages/local/', mayImport: ['errors'] },
  cli: {
    folder: 'packages/cli/',
    mayImport: [
      ...[
        'errors',
        'tracing',
        'dsl',
        'core',
        'edge-worker',
        'engine',
        'testing',
        'client',
        'dashboard',
        'server',
        'local',
      ],
    ],
    // The demo starts runs of a flow that lives there.
    mayImportTypesOf: ['functions'],
  },
}
