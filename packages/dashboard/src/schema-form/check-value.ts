import { type OutputUnit, type Schema, Validator } from '@cfworker/json-schema'
import type { Problem } from './draft.ts'
import type { Json } from './json.ts'

/** Say that something within them is wrong, which another error says better. */
const WRAPPERS = ['properties', 'items', 'prefixItems', '$ref', 'allOf', 'additionalProperties']

/** What a schema has against a value. Without generating code, which the page's content security policy forbids. */
export function checkValue(schema: Json, value: Json): readonly Problem[] {
  if (typeof schema !== 'object' || schema === null) return []
  const { errors } = new Validator(schema as Schema, '2020-12', false).validate(value)
  const ofOtherAlternatives = errorsOfOtherAlternatives(errors)
  const problems = errors
    .filter((error) => !ofOtherAlternatives.has(error) && !isExplained(error, errors))
    .map(problemOf)
  // The same place may be reached in more than one way.
  return [...new Map(problems.map((problem) => [`${problem.path} ${problem.message}`, problem])).values()]
}

function isExplained(error: OutputUnit, all: readonly OutputUnit[]): boolean {
  // Schema libraries say both of an address, for instance, and only one says what is meant.
  if (error.keyword === 'pattern') {
    return all.some((other) => other.keyword === 'format' && other.instanceLocation === error.instanceLocation)
  }
  return (
    WRAPPERS.includes(error.keyword) &&
    all.some(
      (other) =>
        isWithin(other.instanceLocation, error.instanceLocation) ||
        isWithin(other.keywordLocation, error.keywordLocation),
    )
  )
}

/**
 * Where none of several alternatives fits, the errors of the one that was meant: the only one of the value's type, else the only
 * one that is not null. Where that cannot be told it is enough to say that none fits.
 */
function errorsOfOtherAlternatives(errors: readonly OutputUnit[]): ReadonlySet<OutputUnit> {
  const others = new Set<OutputUnit>()
  for (const error of errors) {
    if (error.keyword !== 'anyOf' && error.keyword !== 'oneOf') continue
    const alternatives = new Map<string, OutputUnit[]>()
    for (const inner of errors) {
      if (!isWithin(inner.keywordLocation, error.keywordLocation)) continue
      const index = inner.keywordLocation.slice(error.keywordLocation.length + 1).split('/')[0]!
      alternatives.set(index, [...(alternatives.get(index) ?? []), inner])
    }
    const isOfOtherType = (inner: OutputUnit) =>
      inner.keyword === 'type' && inner.instanceLocation === error.instanceLocation
    const all = [...alternatives.values()]
    const ofType = all.filter((each) => !each.some(isOfOtherType))
    const notNull = all.filter((each) => !each.some((inner) => isOfOtherType(inner) && /"null"\.$/.test(inner.error)))
    const meant = ofType.length === 1 ? ofType[0] : notNull.length === 1 ? notNull[0] : undefined
    for (const inner of all.flat()) if (meant === undefined || !meant.includes(inner)) others.add(inner)
    if (meant !== undefined) others.add(error)
  }
  return others
}

function isWithin(location: string, outer: string): boolean {
  return location.startsWith(`${outer}/`)
}

function problemOf({ instanceLocation, keyword, error }: OutputUnit): Problem {
  const path = decodeURI(instanceLocation.replace(/^#/, ''))
  switch (keyword) {
    case 'anyOf':
    case 'oneOf':
      return { path, message: 'fits none of the forms that it may have' }
    case 'false':
      return { path, message: 'is nothing that the flow knows' }
    case 'required':
      return { path: `${path}/${/property "(.*)"/.exec(error)?.[1] ?? ''}`, message: 'is missing' }
    case 'minLength':
    case 'minItems':
      return { path, message: tooLittle(keyword, error) }
    case 'format':
      return { path, message: `is not of the form ${/"(.*)"/.exec(error)?.[1] ?? 'that is asked for'}` }
    default:
      return { path, message: error.replace(/\.$/, '').replace(/^[A-Z]/, (letter) => letter.toLowerCase()) }
  }
}

/** The library ends with `(0 < 1)`: so much is there, so much is asked for. */
function tooLittle(keyword: 'minLength' | 'minItems', error: string): string {
  const [, have, least] = /\((\d+) < (\d+)\)/.exec(error) ?? []
  if (keyword === 'minItems') return `needs at least ${least}`
  return have === '0' ? 'is empty' : `is too short: at least ${least} characters`
}
