/** Prints `N passed, N failed` from vitest's JSON report. No report means that the tests did not run: that is a failure. */
import { readFileSync } from 'node:fs'

const text = readFileSync(process.argv[2] ?? '', 'utf8')
if (text === '') {
  console.log('0 passed, 1 failed')
} else {
  const { numPassedTests, numFailedTests, numFailedTestSuites, success } = JSON.parse(text)
  // A file that could not be loaded has no tests to count, and still fails the run.
  const failed = numFailedTests || (success ? 0 : Math.max(1, numFailedTestSuites))
  console.log(`${numPassedTests} passed, ${failed} failed`)
}
