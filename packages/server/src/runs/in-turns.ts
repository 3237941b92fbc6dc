/** Does a piece of work for each item, some of them at a time; the answers are in the order of the items. */
export async function inTurns<TItem, TAnswer>(
  items: readonly TItem[],
  concurrency: number,
  work: (item: TItem) => Promise<TAnswer>,
): Promise<TAnswer[]> {
  const answers = new Array<TAnswer>(items.length)
  const rest = items.entries()
  const turn = async () => {
    for (const [index, item] of rest) answers[index] = await work(item)
  }
  await Promise.all(Array.from({ length: concurrency }, turn))
  return answers
}
