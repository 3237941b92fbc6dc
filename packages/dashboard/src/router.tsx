import type { QueryClient } from '@tanstack/react-query'
import {
  createRootRouteWithContext,
  createRoute,
  createRouter,
  lazyRouteComponent,
  Outlet,
  redirect,
  retainSearchParams,
} from '@tanstack/react-router'
import * as z from 'zod/mini'
import { sessionQuery } from './api/session.ts'
import { flowSearch, flowsSearch } from './pages/flows/flow-search.ts'
import { queueSearch } from './pages/queues/queue-search.ts'
import { queuesSearch } from './pages/queues/queues-search.ts'
import { runSearch } from './pages/run/run-search.ts'
import { runFilterSchema } from './pages/runs/run-filter.ts'
import { redeemLink, signInCode } from './pages/sign-in/sign-in-link.ts'
import { waitsSearch } from './pages/waits/waits-search.ts'
import { workersSearch } from './pages/workers/workers-search.ts'
import { formatSearchParams, orLeftOut, parseSearchParams } from './search-params.ts'
import { NotFoundPage, PageError } from './shell/PageError.tsx'
import { Shell } from './shell/Shell.tsx'

interface RouterContext {
  readonly queryClient: QueryClient
}

const rootRoute = createRootRouteWithContext<RouterContext>()({
  component: Outlet,
  notFoundComponent: NotFoundPage,
  errorComponent: PageError,
})

const signInRoute = createRoute({
  getParentRoute: () => rootRoute,
  path: '/sign-in',
  validateSearch: z.object({
    /** An address of this page, where one was going. */
    from: orLeftOut(z.string().check(z.regex(/^\/(?!\/)/))),
  }),
  beforeLoad: async ({ context: { queryClient }, search, location }) => {
    const code = signInCode(location.hash)
    const linkError = code === undefined ? undefined : await redeemLink(queryClient, code)
    const isSignedIn = (await queryClient.ensureQueryData(sessionQuery)) !== null
    if (isSignedIn && linkError === undefined) throw redirect({ href: search.from ?? '/', replace: true })
    return { linkError }
  },
  component: lazyRouteComponent(() => import('./pages/sign-in/SignInPage.tsx'), 'SignInPage'),
})

/** All pages but the sign-in: they ask who is there, and the address holds whose runs they show. */
const signedInRoute = createRoute({
  getParentRoute: () => rootRoute,
  id: '_signed-in',
  validateSearch: z.object({
    workspace: orLeftOut(z.string().check(z.regex(/^[\w.-]{1,64}$/))),
  }),
  search: { middlewares: [retainSearchParams(['workspace'])] },
  beforeLoad: async ({ context, location }) => {
    const session = await context.queryClient.ensureQueryData(sessionQuery)
    if (session === null) throw redirect({ to: '/sign-in', search: { from: location.href }, replace: true })
  },
  component: Shell,
})

const overviewRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/',
  component: lazyRouteComponent(() => import('./pages/overview/OverviewPage.tsx'), 'OverviewPage'),
})

const runsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/runs',
  validateSearch: runFilterSchema,
  component: lazyRouteComponent(() => import('./pages/runs/RunsPage.tsx'), 'RunsPage'),
})

const runRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/runs/$runId',
  validateSearch: runSearch,
  component: lazyRouteComponent(() => import('./pages/run/RunPage.tsx'), 'RunPage'),
})

const waitsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/waits',
  validateSearch: waitsSearch,
  component: lazyRouteComponent(() => import('./pages/waits/WaitsPage.tsx'), 'WaitsPage'),
})

const flowsRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/flows',
  validateSearch: flowsSearch,
  component: lazyRouteComponent(() => import('./pages/flows/FlowsPage.tsx'), 'FlowsPage'),
})

const flowRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/flows/$flow',
  validateSearch: flowSearch,
  component: lazyRouteComponent(() => import('./pages/flows/FlowPage.tsx'), 'FlowPage'),
})

const queuesRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/queues',
  validateSearch: queuesSearch,
  component: lazyRouteComponent(() => import('./pages/queues/QueuesPage.tsx'), 'QueuesPage'),
})

const queueRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/queues/$queue',
  validateSearch: queueSearch,
  component: lazyRouteComponent(() => import('./pages/queues/QueuePage.tsx'), 'QueuePage'),
})

const workersRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/workers',
  validateSearch: workersSearch,
  component: lazyRouteComponent(() => import('./pages/workers/WorkersPage.tsx'), 'WorkersPage'),
})

const runnersRoute = createRoute({
  getParentRoute: () => signedInRoute,
  path: '/runners',
  component: lazyRouteComponent(() => import('./pages/runners/RunnersPage.tsx'), 'RunnersPage'),
})

const routeTree = rootRoute.addChildren([
  signInRoute,
  signedInRoute.addChildren([
    overviewRoute,
    runsRoute,
    runRoute,
    waitsRoute,
    flowsRoute,
    flowRoute,
    queuesRoute,
    queueRoute,
    workersRoute,
    runnersRoute,
  ]),
])

/** Every page and its address. */
export function createAppRouter(queryClient: QueryClient) {
  return createRouter({
    routeTree,
    context: { queryClient },
    parseSearch: parseSearchParams,
    stringifySearch: formatSearchParams,
    defaultErrorComponent: PageError,
    scrollRestoration: true,
    // What a link leads to is there when it is pressed.
    defaultPreload: 'intent',
    defaultPreloadStaleTime: 0,
  })
}

declare module '@tanstack/react-router' {
  interface Register {
    router: ReturnType<typeof createAppRouter>
  }
}
