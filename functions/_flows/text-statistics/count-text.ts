export type TextCounts = { characters: number; words: number; sentences: number; readingSeconds: number }

export type ReadingLevel = { wordsPerSentence: number; level: 'easy' | 'fair' | 'hard' }

/** A usual figure for silent reading of English prose. */
const WORDS_PER_MINUTE = 238

const WORD = /[\p{L}\p{N}]+(?:['’-][\p{L}\p{N}]+)*/gu

/** `characters` counts what a reader sees as one, also where it is an emoji of several code points. */
export function countText(text: string): TextCounts {
  const words = wordsOf(text)
  return {
    characters: [...new Intl.Segmenter('en', { granularity: 'grapheme' }).segment(text)].length,
    words,
    sentences: sentencesOf(text),
    readingSeconds: Math.round((words / WORDS_PER_MINUTE) * 60),
  }
}

/** Long sentences read hard: up to 14 words is easy, up to 24 fair. */
export function readingLevel(text: string): ReadingLevel {
  const sentences = sentencesOf(text)
  const wordsPerSentence = sentences === 0 ? 0 : Math.round((wordsOf(text) / sentences) * 10) / 10
  return { wordsPerSentence, level: wordsPerSentence <= 14 ? 'easy' : wordsPerSentence <= 24 ? 'fair' : 'hard' }
}

export function describeText(counts: TextCounts, reading: ReadingLevel): string {
  const plural = (count: number, noun: string) => `${count} ${noun}${count === 1 ? '' : 's'}`
  return `${plural(counts.words, 'word')} in ${plural(counts.sentences, 'sentence')}, ${reading.level} to read in ${counts.readingSeconds} s`
}

function wordsOf(text: string): number {
  return text.match(WORD)?.length ?? 0
}

function sentencesOf(text: string): number {
  const segments = new Intl.Segmenter('en', { granularity: 'sentence' }).segment(text)
  return [...segments].filter(({ segment }) => wordsOf(segment) > 0).length
}
