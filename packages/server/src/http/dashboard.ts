import { join, resolve } from 'node:path'
import { serveStatic } from '@hono/node-server/serve-static'
import type { Context } from 'hono'
import type { App } from './app.ts'

const NOT_OF_THE_PAGE = /^\/(api|webhooks|health|readyz|metrics)(\/|$)/
/** Files whose name has a hash of what they hold. */
const HASHED = /^\/assets\//

/**
 * Serves the files of the dashboard at `/`, and its page for every path that is none of them: the page has its own routes. The
 * files hold nothing secret; whatever they show comes from the API, which asks who is there. `findFolder` is asked when the
 * first of them is wanted, so that a server whose page nobody opens does not wait for it.
 */
export function serveDashboard(app: App, findFolder: () => Promise<string>): void {
  let finding: Promise<Handlers> | undefined
  const handlers = () => {
    finding ??= findFolder().then(handlersOf, (error: unknown) => {
      // The next request tries again.
      finding = undefined
      throw error
    })
    return finding
  }
  app.get('/*', async (context, next) => {
    if (NOT_OF_THE_PAGE.test(context.req.path)) return next()
    const { file, page } = await handlers()
    const isHashed = HASHED.test(context.req.path)
    context.header('cache-control', isHashed ? 'public, max-age=31536000, immutable' : 'no-cache')
    const found = await file(context)
    // Nobody keeps that a file is missing: the next build may have it.
    if (found === undefined) context.header('cache-control', 'no-cache')
    // A page of an older build asks for files that are gone: it must not take the page for one of them.
    return found ?? (isHashed ? next() : page(context))
  })
}

type Serve = (context: Context) => Promise<Response | undefined>

interface Handlers {
  readonly file: Serve
  readonly page: Serve
}

function handlersOf(folder: string): Handlers {
  const root = resolve(folder)
  const serve = (options: Parameters<typeof serveStatic>[0]): Serve => {
    const handler = serveStatic(options)
    return async (context) => (await handler(context, async () => {})) ?? undefined
  }
  return { file: serve({ root }), page: serve({ path: join(root, 'index.html') }) }
}
