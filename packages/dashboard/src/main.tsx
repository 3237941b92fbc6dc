// Before any schema is made.
import './without-eval.ts'
import './design/tokens.css'
import './design/base.css'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { createQueryClient } from './api/query-client.ts'
import { ToastProvider } from './design/Toast.tsx'
import { createAppRouter } from './router.tsx'
import { titleCutTextIn } from './shell/cut-text.ts'
import { reloadAfterUpdate } from './shell/reload-after-update.ts'
import { applyRememberedTheme } from './shell/theme.ts'

applyRememberedTheme()
titleCutTextIn(document)
reloadAfterUpdate({
  page: window,
  reload: () => window.location.reload(),
  memory: () => window.sessionStorage,
  now: Date.now,
})

const queryClient = createQueryClient()
const router = createAppRouter(queryClient)

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <QueryClientProvider client={queryClient}>
      <ToastProvider>
        <RouterProvider router={router} />
      </ToastProvider>
    </QueryClientProvider>
  </StrictMode>,
)
