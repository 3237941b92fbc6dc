import { type AnyFlow, extractFlowShape, type FlowShape, inputProblem, type Json } from '@starflow/dsl'
import { StarflowError } from '@starflow/errors'

/** The flows that this process was started with, by slug. */
export class FlowCatalog {
  readonly #flows: ReadonlyMap<string, AnyFlow>

  constructor(flows: readonly AnyFlow[]) {
    this.#flows = new Map(flows.map((flow) => [flow.slug, flow]))
  }

  get flows(): readonly AnyFlow[] {
    return [...this.#flows.values()]
  }

  find(flowSlug: string): AnyFlow | undefined {
    return this.#flows.get(flowSlug)
  }

  shapeOf(flowSlug: string): FlowShape | undefined {
    const flow = this.#flows.get(flowSlug)
    return flow && extractFlowShape(flow)
  }

  /**
   * Checks an input against the schema of its flow, where the flow is known here and has one.
   *
   * @throws StarflowError SF203
   */
  async checkInput(flowSlug: string, input: Json): Promise<void> {
    const schema = this.#flows.get(flowSlug)?.input
    const problem = schema === undefined ? null : await inputProblem(schema, input)
    if (problem === null) return
    throw new StarflowError({
      code: 'SF203',
      message: `The input does not match the schema of flow "${flowSlug}".`,
      detail: problem,
      hint: 'Correct the input. Nothing was started.',
      fields: { flowSlug },
    })
  }
}
