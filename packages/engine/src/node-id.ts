/**
 * A node is a step, or an element of a map. Its id is what events carry: the step slug, or `slug[3]`. Slugs have no
 * brackets, so the two are never taken for each other.
 */
export interface NodeRef {
  readonly stepSlug: string
  /** Zero-based; undefined for the step itself. */
  readonly index: number | undefined
}

export function nodeId(stepSlug: string, index?: number): string {
  return index === undefined ? stepSlug : `${stepSlug}[${index}]`
}

const ELEMENT = /^(.+)\[(\d+)\]$/

export function parseNodeId(id: string): NodeRef {
  const element = ELEMENT.exec(id)
  return element === null
    ? { stepSlug: id, index: undefined }
    : { stepSlug: element[1] as string, index: Number(element[2]) }
}
