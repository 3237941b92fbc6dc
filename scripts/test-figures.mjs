/**
 * Prints, from vitest's JSON reports, each test that failed with the first lines of its message, the files that took longest, and
 * `N passed, N failed`. They come last, so that they are found where only the end of a long log is kept. A report that is empty
 * means that its tests did not run: a failure.
 */
import { readFileSync } from 'node:fs'
import { relative } from 'node:path'

/** Lines of a failure's message that are shown: the assertion and where it stands. */
const MESSAGE_LINES = 12
/** Files that are shown with their time. */
const SLOWEST_FILES = 10

const figures = process.argv.slice(2).map((file) => {
  const text = readFileSync(file, 'utf8')
  if (text === '') return { passed: 0, failed: 1, files: [] }
  const { numPassedTests, numFailedTests, numFailedTestSuites, success, testResults } = JSON.parse(text)
  // A file that could not be loaded has no tests to count, and still fails the run.
  return {
    passed: numPassedTests,
    failed: numFailedTests || (success ? 0 : Math.max(1, numFailedTestSuites)),
    files: testResults.map((each) => ({ ...each, name: relative(process.cwd(), each.name) })),
  }
})

const files = figures.flatMap((each) => each.files)

const seconds = (file) => Math.round((file.endTime - file.startTime) / 1000)
const slowest = [...files].sort((a, b) => seconds(b) - seconds(a)).slice(0, SLOWEST_FILES)
if (slowest.length > 0) console.log(`Longest: ${slowest.map((file) => `${file.name} ${seconds(file)} s`).join(', ')}`)

const firstLines = (message) =>
  message
    .split('\n')
    .slice(0, MESSAGE_LINES)
    .map((line) => `    ${line}`)
    .join('\n')
for (const file of files.filter((each) => each.status === 'failed')) {
  const failed = file.assertionResults.filter((test) => test.status === 'failed')
  if (failed.length === 0) console.log(`FAILED ${file.name}\n${firstLines(file.message)}`)
  for (const test of failed)
    console.log(`FAILED ${file.name} > ${test.fullName}\n${firstLines(test.failureMessages.join('\n'))}`)
}

const sum = (name) => figures.reduce((total, each) => total + each[name], 0)
console.log(`${sum('passed')} passed, ${sum('failed') + (figures.length === 0 ? 1 : 0)} failed`)
