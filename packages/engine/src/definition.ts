import type { FlowShape, StepShape } from '@starflow/dsl'

/**
 * The hash of a flow's structure, in hex: steps in their order, types, dependencies, conditions and modes. Options and the
 * input schema are no part of it, so changing them needs no new definition. It is SHA-256 over canonical JSON: keys sorted by
 * their code units, no spaces. Runs and runners are matched by it, so its text must never change for an equal structure.
 */
export async function shapeHash(shape: FlowShape): Promise<string> {
  const text = canonicalJson({ steps: shape.steps.map(structureOf) })
  const digest = await crypto.subtle.digest('SHA-256', new TextEncoder().encode(text))
  return Array.from(new Uint8Array(digest), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

function structureOf(step: StepShape) {
  const { slug, stepType, dependencies, whenUnmet, whenExhausted, requiredInputPattern, forbiddenInputPattern } = step
  return {
    slug,
    stepType,
    dependencies: [...dependencies].sort(),
    whenUnmet,
    whenExhausted,
    requiredInputPattern,
    forbiddenInputPattern,
  }
}

function canonicalJson(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value)
    .filter(([, member]) => member !== undefined)
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([key, member]) => `${JSON.stringify(key)}:${canonicalJson(member)}`)
  return `{${members.join(',')}}`
}
