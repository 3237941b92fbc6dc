import { StarflowError } from '@starflow/errors'

/** An option of a flow, a step or a worker whose value is not allowed (SF113). */
export class InvalidStepOptionError extends StarflowError {
  readonly option: string
  readonly value: unknown
  readonly rule: string

  constructor(parts: { owner: string; option: string; value: unknown; rule: string; hint?: string }) {
    const { owner, option, value, rule, hint } = parts
    super({
      code: 'SF113',
      message: `${owner} has an invalid option ${option}: ${show(value)}.`,
      detail: `${option} ${rule}.`,
      hint: hint ?? `Correct ${option}, or leave it out.`,
      fields: { option, value: show(value), rule },
    })
    this.option = option
    this.value = value
    this.rule = rule
  }
}

function show(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value)
  if (Array.isArray(value)) return 'an array'
  if (typeof value === 'object' && value !== null) return 'an object'
  if (typeof value === 'function') return 'a function'
  return String(value)
}
