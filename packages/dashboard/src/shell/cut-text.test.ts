import { expect, test } from 'vitest'
import { type TextBox, titleCutText } from './cut-text.ts'

function box(text: string, width: number, parentElement: TextBox | null = null) {
  return { parentElement, textContent: text, scrollWidth: text.length, clientWidth: width, title: '' }
}

function over(target: TextBox, given = new WeakSet<TextBox>(), isEllipsis: (box: TextBox) => boolean = () => true) {
  titleCutText(target, isEllipsis, given)
  return given
}

test('text that is cut off is told whole, also where a link in it is pointed at', () => {
  const cell = box('ordersv1__price', 6)
  const link = box('ordersv1__price', 15, cell)
  over(link, new WeakSet(), (each) => each === cell)
  expect([link.title, cell.title]).toEqual(['', 'ordersv1__price'])
})

test('a title that an element has is left alone, and what fits gets none', () => {
  const titled = { ...box('ordersv1__price', 6), title: 'The queue' }
  const around = box('ordersv1__price and more', 6)
  over({ ...titled, parentElement: around })
  const whole = box('price', 6)
  over(whole)
  expect([titled.title, around.title, whole.title]).toEqual(['The queue', '', ''])
})

test('a title that was given follows the text, and goes where there is room again', () => {
  const cell = box('1 m 59 s ago', 4)
  const given = over(cell)
  cell.textContent = '2 m 00 s ago'
  over(cell, given)
  expect(cell.title).toBe('2 m 00 s ago')
  cell.clientWidth = 20
  over(cell, given)
  expect(cell.title).toBe('')
})
