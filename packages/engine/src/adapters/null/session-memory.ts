import type { Json } from '@starflow/dsl'

interface Variable {
  /** As text, so that nobody changes what somebody else has read. */
  readonly text: string
  readonly runId: string
  readonly keepUntil: number | null
}

/** Session variables of one process. */
export class SessionMemory {
  readonly #clock: () => number
  readonly #variables = new Map<string, Variable>()

  constructor(clock: () => number) {
    this.#clock = clock
  }

  get(sessionId: string, key: string): Json | null {
    const variable = this.#variables.get(keyOf(sessionId, key))
    return variable === undefined || this.#isOver(variable) ? null : (JSON.parse(variable.text) as Json)
  }

  set(
    sessionId: string,
    key: string,
    value: Json,
    { runId, keepForMs }: { readonly runId: string; readonly keepForMs?: number | undefined },
  ): void {
    const keepUntil = keepForMs === undefined ? null : this.#clock() + keepForMs
    this.#variables.set(keyOf(sessionId, key), { text: JSON.stringify(value), runId, keepUntil })
  }

  /** The run has ended: what it wrote last goes, unless it is kept for longer. */
  drop(runId: string): void {
    this.#remove((variable) => variable.runId === runId && variable.keepUntil === null)
  }

  /** Removes what is over; returns how many. */
  collect(): number {
    return this.#remove((variable) => this.#isOver(variable))
  }

  #remove(isToGo: (variable: Variable) => boolean): number {
    const going = [...this.#variables].filter(([, variable]) => isToGo(variable))
    for (const [key] of going) this.#variables.delete(key)
    return going.length
  }

  #isOver({ keepUntil }: Variable): boolean {
    return keepUntil !== null && keepUntil <= this.#clock()
  }
}

function keyOf(sessionId: string, key: string): string {
  return JSON.stringify([sessionId, key])
}
