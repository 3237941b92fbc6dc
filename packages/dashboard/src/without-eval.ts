import { config } from 'zod/mini'

// zod would try whether it may make code from text, which the policy of the server refuses and the browser reports.
config({ jitless: true })
