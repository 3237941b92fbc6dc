import type { Json, JsonObject } from '@starflow/dsl'

/**
 * Whether `value` contains `pattern`, as Postgres' `jsonb @>` decides it. `dsl/vectors/containment.json` is run by both.
 *
 * An object contains one whose members it has, each contained in its own. An array contains one whose elements it has, in
 * any order and however often. Scalars are equal or not, by type; 1 and 1.0 are the same number. At the top, and only there,
 * an array contains a scalar that is one of its elements.
 *
 * One difference is JavaScript's: a number beyond 2^53 that somebody else wrote into a run's input has become the nearest
 * double by the time a runner (or any handler) sees it, while Postgres compares all its digits. What handlers return
 * are doubles from the start, for which both agree. Identifiers of that size belong into strings.
 */
export function contains(value: Json, pattern: Json): boolean {
  if (isArray(value) && !isContainer(pattern)) return value.some((element) => element === pattern)
  return containsPart(value, pattern)
}

function containsPart(value: Json, pattern: Json): boolean {
  if (isArray(pattern)) {
    return isArray(value) && pattern.every((wanted) => value.some((element) => containsPart(element, wanted)))
  }
  if (isContainer(pattern)) {
    return (
      isContainer(value) &&
      !isArray(value) &&
      Object.entries(pattern).every(([key, wanted]) => hasMember(value, key, wanted))
    )
  }
  return value === pattern
}

/** Asks for own members: a pattern may name a key like `constructor`. */
function hasMember(value: JsonObject, key: string, wanted: Json | undefined): boolean {
  if (wanted === undefined) return true
  const found = Object.hasOwn(value, key) ? value[key] : undefined
  return found !== undefined && containsPart(found, wanted)
}

function isContainer(value: Json): value is JsonObject | readonly Json[] {
  return typeof value === 'object' && value !== null
}

function isArray(value: Json): value is readonly Json[] {
  return Array.isArray(value)
}
