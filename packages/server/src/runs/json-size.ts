import { Buffer } from 'node:buffer'
import type { Json } from '@starflow/dsl'
import { MAX_INLINE_BYTES } from '../numbers.ts'

/** A value as a run shows it: with its size, and only where it is small. Undefined: there is none. */
export function inlined(value: Json | undefined): { readonly value: Json; readonly bytes: number | null } {
  if (value === undefined) return { value: null, bytes: null }
  const bytes = Buffer.byteLength(JSON.stringify(value))
  return { value: bytes <= MAX_INLINE_BYTES ? value : null, bytes }
}
