import { expect, test } from 'vitest'
import { extractKeywords } from './extract-keywords.ts'

const document = (text: string, title = '', ...sections: string[]) => ({
  title,
  sections: sections.map((heading) => ({ depth: 2, title: heading, anchor: heading })),
  text,
})

test('frequent terms come first, terms of headings before others', () => {
  const text = 'pool pool pool query query socket socket'
  expect(extractKeywords(document(text))).toEqual(['pool', 'query', 'socket'])
  expect(extractKeywords(document(text, 'Socket'))[0]).toBe('socket')
})

test('stop words, README boilerplate, numbers and short words are left out', () => {
  expect(extractKeywords(document('The npm install of 12 is a licence, ab: throttle'))).toEqual(['throttle'])
})

test('compound names stay whole, in any script', () => {
  expect(extractKeywords(document('pg-boss naïveté 数据库'))).toEqual(['naïveté', 'pg-boss', '数据库'])
})

test('the order is the same on every attempt', () => {
  expect(extractKeywords(document('beta alpha gamma'), 2)).toEqual(['alpha', 'beta'])
})
