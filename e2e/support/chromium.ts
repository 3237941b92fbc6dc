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

/** Where the system's Chromium is; Debian's package is installed where there is none, which may take a minute. */
export function findChromium(): string {
  return debianProgram('chromium', ['/usr/bin/chromium', '/usr/bin/chromium-browser'])
}

/** The system's Chromium, without a window. */
export async function startChromium(): Promise<Browser> {
  return await chromium.launch({ executablePath: findChromium(), headless: true, args: FLAGS })
}
