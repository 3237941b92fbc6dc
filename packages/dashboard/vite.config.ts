import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

/** `npm run dev` shows the page with hot reload, in front of a server that runs already. */
const server = process.env.STARFLOW_URL ?? 'http://127.0.0.1:8787'

export default defineConfig({
  plugins: [react()],
  envDir: false,
  build: {
    // The first that know light-dark() and all else that the styles are written in.
    target: ['chrome123', 'firefox128', 'safari17.5'],
    // The policy of the server is `default-src 'self'`: nothing is inlined.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    reportCompressedSize: false,
  },
  server: { proxy: { '/api': server, '/health': server } },
})
