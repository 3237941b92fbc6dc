/** What is asked of an element. */
export interface TextBox {
  readonly parentElement: TextBox | null
  readonly textContent: string | null
  readonly scrollWidth: number
  readonly clientWidth: number
  title: string
}

/** A title may stand so far above what the pointer is over: on the cell around a link, for instance. */
const LEVELS = 3

/**
 * Gives text that its box cuts off a title, so that it can be read whole where it has none of its own. Call it with what the pointer
 * comes over; `given` remembers which titles are from here, as these follow the text.
 */
export function titleCutText(over: TextBox, isEllipsis: (box: TextBox) => boolean, given: WeakSet<TextBox>): void {
  let box: TextBox | null = over
  for (let level = 0; box !== null && level < LEVELS; level++, box = box.parentElement) {
    if (box.title !== '' && !given.has(box)) return
    if (!isEllipsis(box)) continue
    const isCut = box.scrollWidth > box.clientWidth
    if (isCut) given.add(box)
    box.title = isCut ? (box.textContent ?? '') : ''
  }
}

/** Does so in a page, wherever the pointer goes. */
export function titleCutTextIn(page: Document): void {
  const given = new WeakSet<TextBox>()
  const isEllipsis = (box: TextBox) => getComputedStyle(box as HTMLElement).textOverflow === 'ellipsis'
  page.addEventListener('pointerover', ({ target }) => {
    if (target instanceof HTMLElement) titleCutText(target, isEllipsis, given)
  })
}
