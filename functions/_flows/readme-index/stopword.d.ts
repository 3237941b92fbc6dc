/** The package has no types of its own; this is all we use of it. */
declare module 'stopword' {
  export const eng: readonly string[]
}
