import { readFileSync } from 'node:fs'
import { type Json, parseExactJson, roundedNumber, roundedNumberProblem } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'

/**
 * A JSON value as an option gives it: itself, `@file` for what a file holds, `-` for standard input.
 *
 * @throws StarflowError SF610 for what is not JSON, cannot be read, or has a number that JavaScript would round
 */
export function readJsonArgument(option: string, argument: string): Json {
  const text = readText(option, argument)
  const value = parsed(option, text)
  const rounded = roundedNumber(value)
  if (rounded === undefined) return value
  throw new StarflowError({
    code: 'SF610',
    message: `${option} has a number that would be rounded.`,
    detail: roundedNumberProblem(rounded),
    hint: 'Quote the number, and let the flow take text there. Nothing was changed.',
    fields: { path: rounded },
  })
}

function parsed(option: string, text: string): Json {
  try {
    return parseExactJson(text) as Json
  } catch (cause) {
    throw new StarflowError({
      code: 'SF610',
      message: `${option} is not JSON.`,
      detail: (cause as Error).message,
      hint: `Quote it for the shell: ${option} '{"id": 1}'. A file is ${option} @file.json, standard input ${option} -.`,
    })
  }
}

function readText(option: string, argument: string): string {
  if (argument !== '-' && !argument.startsWith('@')) return argument
  try {
    return readFileSync(argument === '-' ? process.stdin.fd : argument.slice(1), 'utf8')
  } catch (cause) {
    throw new StarflowError({
      code: 'SF610',
      message: `${option} ${argument} cannot be read.`,
      detail: (cause as Error).message,
      hint: `Give ${option} a file that is there, as @file.json, or the JSON itself.`,
    })
  }
}
