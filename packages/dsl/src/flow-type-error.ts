/**
 * A type that nothing can be assigned to: it exists so that a wrong call shows a sentence in the editor.
 *
 * @example
 * FlowTypeError<'"parse" does not return an array'>
 */
export interface FlowTypeError<TSentence extends string> {
  readonly __flowTypeError__: TSentence
}
