import type { JsonObject } from './json.ts'
import type { StandardSchemaV1 } from './standard-schema.ts'

/**
 * The JSON Schema of a schema, where its library can tell: the Standard JSON Schema interface, else the library's own
 * method. Undefined where it cannot, also for a schema that JSON Schema cannot express.
 */
export function jsonSchemaOf(schema: StandardSchemaV1): JsonObject | undefined {
  const { jsonSchema } = schema['~standard'] as { jsonSchema?: { input?: (options: { target: string }) => unknown } }
  const { toJSONSchema, toJsonSchema } = schema as { toJSONSchema?: () => unknown; toJsonSchema?: () => unknown }
  for (const emit of [
    () => jsonSchema?.input?.({ target: 'draft-2020-12' }),
    () => toJSONSchema?.call(schema),
    () => toJsonSchema?.call(schema),
  ]) {
    const emitted = attempt(emit)
    // A trip through JSON drops the functions and symbols that some libraries attach.
    if (typeof emitted === 'object' && emitted !== null) return JSON.parse(JSON.stringify(emitted)) as JsonObject
  }
  return undefined
}

function attempt(emit: () => unknown): unknown {
  try {
    return emit()
  } catch {
    return undefined
  }
}
