import { expect, test } from 'vitest'
import { countText, describeText, readingLevel } from './count-text.ts'

test('words, sentences and characters are counted as a reader sees them', () => {
  expect(countText("Don't panic. It's 👩‍🚀!")).toEqual({ characters: 20, words: 3, sentences: 2, readingSeconds: 1 })
  expect(countText('')).toEqual({ characters: 0, words: 0, sentences: 0, readingSeconds: 0 })
})

test('the reading level follows the length of sentences', () => {
  const sentence = (words: number) => `${Array.from({ length: words }, () => 'word').join(' ')}.`
  expect(readingLevel(sentence(14)).level).toBe('easy')
  expect(readingLevel(sentence(15)).level).toBe('fair')
  expect(readingLevel(sentence(25)).level).toBe('hard')
  expect(readingLevel('').wordsPerSentence).toBe(0)
})

test('a description uses the singular for one', () => {
  expect(describeText(countText('Hello.'), readingLevel('Hello.'))).toBe('1 word in 1 sentence, easy to read in 0 s')
})
