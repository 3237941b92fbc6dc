import { existsSync } from 'node:fs'
import { StarflowError } from '@starflow/errors'
import type { ServerStore } from '@starflow/server'
import type { Command } from 'commander'
import { withDatabaseOptions } from '../database/database-option.ts'
import { type DatabaseOptions, withDatabase } from '../database/open-database.ts'
import type { Output, OutputFor } from '../output/output.ts'
import { textTable } from '../output/text-table.ts'
import { nameArgument } from '../runs/name-argument.ts'

interface TokenOptions extends DatabaseOptions {
  readonly sqlite?: string
  readonly workspace?: string
  readonly name?: string
  readonly json?: boolean
}

/** Adds `starflow tokens …`. */
export function addTokensCommands(program: Command, outputFor: OutputFor): void {
  const tokens = program.command('tokens').description('Tokens with which workspaces use the API of the server.')
  withStoreOptions(
    tokens
      .command('create')
      .description('Make a token of a workspace, and print it: it is shown this once, and kept as a hash.')
      .requiredOption('--workspace <name>', 'the workspace that it stands for', nameArgument('--workspace'))
      .option('--name <text>', 'what it is for', 'unnamed'),
  ).action((options: TokenOptions) => runCreate(options, outputFor(options)))
  withStoreOptions(
    tokens
      .command('list')
      .description('List tokens, revoked ones too. Nothing that is listed is secret.')
      .option('--workspace <name>', 'those of one workspace', nameArgument('--workspace')),
  ).action((options: TokenOptions) => runList(options, outputFor(options)))
  withStoreOptions(
    tokens
      .command('revoke')
      .description('Revoke a token: from now on the server refuses it. Twice is fine.')
      .argument('<id>', 'its id, as tokens list shows it'),
  ).action((id: string, options: TokenOptions) => runRevoke(id, options, outputFor(options)))
}

function withStoreOptions(command: Command): Command {
  return withDatabaseOptions(command.option('--sqlite <file>', 'the file of a server that keeps its runs on SQLite'))
}

async function runCreate(options: TokenOptions, output: Output): Promise<void> {
  const { makeApiToken } = await import('@starflow/server')
  const workspace = options.workspace!
  const { token, record } = makeApiToken(workspace, options.name!)
  await withStore(options, (store) => store.createToken(record))
  output.result({ token, tokenId: record.tokenId, workspace })
  output.line(token)
  output.line(
    `\nA token of workspace "${workspace}". It is not shown again; revoke it with: npx starflow tokens revoke ${record.tokenId}`,
  )
}

async function runList(options: TokenOptions, output: Output): Promise<void> {
  checkFile(options)
  const tokens = await withStore(options, (store) => store.listTokens(options.workspace))
  output.result({ tokens })
  const lines = textTable(
    [{ title: 'id' }, { title: 'workspace' }, { title: 'name' }, { title: 'created' }, { title: 'revoked' }],
    tokens.map((each) => [each.tokenId, each.workspaceId, each.name, each.createdAt, each.revokedAt ?? '']),
  )
  for (const line of tokens.length === 0 ? ['There is no token.'] : lines) output.line(line)
}

async function runRevoke(id: string, options: TokenOptions, output: Output): Promise<void> {
  checkFile(options)
  const isFound = await withStore(options, (store) => store.revokeToken(id))
  if (!isFound) {
    throw new StarflowError({
      code: 'SF912',
      message: `There is no token "${id}".`,
      detail: 'A token is named by its id: of sft_<id>_<secret> the middle part.',
      hint: 'See them with: npx starflow tokens list',
    })
  }
  output.result({ tokenId: id, revoked: true })
  output.line('Revoked: the server refuses it from now on.')
}

/** To look into a file does not make it. */
function checkFile({ sqlite }: TokenOptions): void {
  if (sqlite === undefined || existsSync(sqlite)) return
  throw new StarflowError({
    code: 'SF610',
    message: `--sqlite names no file: "${sqlite}".`,
    detail: 'A server makes the file when it first starts, and tokens create does.',
    hint: 'A server keeps its runs in .starflow/runs.db of the project that it is started in, unless STARFLOW_SQLITE_PATH says otherwise.',
  })
}

async function withStore<T>(options: TokenOptions, work: (store: ServerStore) => Promise<T>): Promise<T> {
  const { withServerStore } = await import('@starflow/server')
  if (options.sqlite !== undefined) return await withServerStore({ sqlitePath: options.sqlite }, work)
  return await withDatabase(options, ({ sql }) => withServerStore({ sql }, work))
}
