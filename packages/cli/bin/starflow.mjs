#!/usr/bin/env node
// Flows and starflow.config.ts are TypeScript: tsx reads them in this process, without a build.
import { register } from 'tsx/esm/api'

register()
await import('../src/main.ts')
