/** Prints `N passed, N failed` from vitest's JSON reports. A report that is empty means that its tests did not run: a failure. */
import { readFileSync } from 'node:fs'

const figures = process.argv.slice(2).map((file) => {
  const text = readFileSync(file, 'utf8')
  if (text === '') return { passed: 0, failed: 1 }
  const { numPassedTests, numFailedTests, numFailedTestSuites, success } = JSON.parse(text)
  // A file that could not be loaded has no tests to count, and still fails the run.
  return { passed: numPassedTests, failed: numFailedTests || (success ? 0 : Math.max(1, numFailedTestSuites)) }
})
const sum = (name) => figures.reduce((total, each) => total + each[name], 0)
console.log(`${sum('passed')} passed, ${sum('failed') + (figures.length === 0 ? 1 : 0)} failed`)
