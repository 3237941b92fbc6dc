import { findChromium } from './chromium.ts'

/** Before the tests: no test's time goes to its installation. */
export default function setup(): void {
  findChromium()
}
