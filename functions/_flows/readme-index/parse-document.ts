import GithubSlugger from 'github-slugger'
import type { Nodes, Root } from 'mdast'
import { fromMarkdown } from 'mdast-util-from-markdown'
import { gfmFromMarkdown } from 'mdast-util-gfm'
import { toString as textOf } from 'mdast-util-to-string'
import { gfm } from 'micromark-extension-gfm'
import { SKIP, visit } from 'unist-util-visit'
import { type DocumentInput, identityOf, type ParsedDocument, type Section } from './document.ts'
import { scanHtml } from './scan-html.ts'

/** The index keeps this much prose of a document, in UTF-16 units: a tsvector holds 1 MB at most. */
const MAX_TEXT_LENGTH = 100_000

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu

/** Reads Markdown (GitHub's flavour, with the HTML that READMEs mix in). Never refuses: any text is Markdown. */
export function parseDocument(input: DocumentInput): ParsedDocument {
  const tree: Root = fromMarkdown(input.markdown, { extensions: [gfm()], mdastExtensions: [gfmFromMarkdown()] })
  const slugger = new GithubSlugger()
  const sections: Section[] = []
  const htmlAnchors = new Set<string>()
  const targets = new Set<string>()
  const codeLanguages = new Set<string>()
  const prose: string[] = []

  const addSection = (depth: number, title: string) => sections.push({ depth, title, anchor: slugger.slug(title) })
  const addTarget = (target: string) => {
    const trimmed = target.trim()
    if (trimmed !== '') targets.add(trimmed)
  }

  visit(tree, (node) => {
    switch (node.type) {
      case 'heading':
        addSection(node.depth, proseOf(node))
        break
      case 'link':
      case 'image':
      case 'definition':
        addTarget(node.url)
        break
      case 'code':
        if (node.lang) codeLanguages.add(node.lang.toLowerCase())
        break
      case 'html': {
        const found = scanHtml(node.value)
        for (const heading of found.headings) addSection(heading.depth, heading.title)
        for (const anchor of found.anchors) htmlAnchors.add(anchor.toLowerCase())
        for (const target of found.targets) addTarget(target)
        break
      }
    }
  })
  visit(tree, (node) => {
    if (node.type !== 'paragraph' && node.type !== 'heading' && node.type !== 'tableCell') return undefined
    const text = proseOf(node)
    if (text !== '') prose.push(text)
    return SKIP
  })

  const text = prose.join('\n')
  return {
    identity: identityOf(input),
    title: titleOf(sections, input),
    sections,
    htmlAnchors: [...htmlAnchors],
    targets: [...targets],
    codeLanguages: [...codeLanguages],
    words: text.match(WORD)?.length ?? 0,
    text: truncate(text, MAX_TEXT_LENGTH),
  }
}

/** READMEs often have a logo for a title; "Getting started" would say less than the package's name. */
function titleOf(sections: readonly Section[], { package: name, path }: DocumentInput): string {
  const main = sections.find((section) => section.depth === 1)?.title
  const first = /(^|\/)readme\.\w+$/i.test(path) ? undefined : sections[0]?.title
  return main || first || name
}

function proseOf(node: Nodes): string {
  return textOf(node, { includeImageAlt: false, includeHtml: false }).trim()
}

/** Never cuts a character in two: half of a surrogate pair is not JSON that Postgres takes. */
function truncate(text: string, maxLength: number): string {
  if (text.length <= maxLength) return text
  const lastUnit = text.charCodeAt(maxLength - 1)
  const cutsPair = lastUnit >= 0xd800 && lastUnit <= 0xdbff
  return text.slice(0, cutsPair ? maxLength - 1 : maxLength)
}
