/** Types that the steps of readmeIndexV1 hand to each other. Aliases, not interfaces: all of them travel as JSON. */

/** One document to index: the flow input. */
export type DocumentInput = {
  /** Name of the package, or of the folder, that ships the document. */
  package: string
  version?: string
  /** Where the document lies in its package, with forward slashes. */
  path: string
  markdown: string
  /** Files that the package ships, relative to it. */
  files: string[]
  /** False when the package ships more files than the list holds; a file that is not listed is then unknown, not missing. */
  filesComplete: boolean
}

/** What names a document in the index. The same document keeps its id from run to run, so that indexing is an upsert. */
export type DocumentIdentity = { id: string; package: string; version: string; path: string }

export type Section = { depth: number; title: string; anchor: string }

export type ParsedDocument = {
  identity: DocumentIdentity
  title: string
  sections: Section[]
  /** Anchors that the document sets in HTML (`id` and `name`), lower-cased. */
  htmlAnchors: string[]
  /** Every target that the document links to, once, in reading order. */
  targets: string[]
  codeLanguages: string[]
  words: number
  /** The prose, without code blocks, HTML and images. */
  text: string
}

export type LinkKind = 'anchor' | 'file' | 'web' | 'mail' | 'other'

/** `anchorExists` is there for links of kind `anchor` only. */
export type Link = { target: string; kind: LinkKind; anchorExists?: boolean }

/** `unchecked` is what cannot be known from the package alone: the web, mail, and files outside of the package. */
export type LinkCheck = { target: string; kind: LinkKind; status: 'ok' | 'broken' | 'unchecked'; reason?: string }

export type LinkSummary = { checked: number; broken: number; hasBroken: boolean }

export function identityOf(input: DocumentInput): DocumentIdentity {
  const version = input.version ?? ''
  const name = version === '' ? input.package : `${input.package}@${version}`
  return { id: `${name}/${input.path}`, package: input.package, version, path: input.path }
}
