import { join, resolve } from 'node:path'
import { serveStatic } from '@hono/node-server/serve-static'
import type { App } from './app.ts'

const NOT_OF_THE_PAGE = /^\/(api|webhooks|health|readyz|metrics)(\/|$)/

/**
 * Serves the files of the dashboard at `/`, and its page for every path that is none of them: the page has its own routes. The
 * files hold nothing secret; whatever they show comes from the API, which asks who is there.
 */
export function serveDashboard(app: App, folder: string): void {
  const root = resolve(folder)
  app.use('/*', async (context, next) => {
    if (NOT_OF_THE_PAGE.test(context.req.path)) return next()
    return await serveStatic({ root })(context as never, next)
  })
  app.get('/*', async (context, next) => {
    if (NOT_OF_THE_PAGE.test(context.req.path)) return next()
    return await serveStatic({ path: join(root, 'index.html') })(context as never, next)
  })
}
