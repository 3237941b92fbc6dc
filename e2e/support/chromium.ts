import { type Browser, chromium } from 'playwright-core'
import { debianProgram } from './debian-package.ts'

/** Keeps to this computer: nothing of Chromium's own asks the network. */
const FLAGS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
]

/** The system's Chromium, without a window; Debian's package where there is none. */
export async function startChromium(): Promise<Browser> {
  const executablePath = debianProgram('chromium', ['/usr/bin/chromium', '/usr/bin/chromium-browser'])
  return await chromium.launch({ executablePath, headless: true, args: FLAGS })
}
