/** A page of a list, as the API gives it. */
export interface RunPage<TRun> {
  readonly runs: readonly TRun[]
  /** What asks for the page behind it; null: there is none. */
  readonly next: string | null
}

/**
 * Pages of runs, the newest first, as they are laid under each other. What has been laid stays where it is. Newer runs come on top
 * only when somebody asks for them.
 */
export interface RunPages<TRun> {
  readonly pages: readonly RunPage<TRun>[]
}

interface Listed {
  readonly runId: string
}

/** All runs of the pages in their order, each once. */
export function runsOf<TRun extends Listed>(pages: readonly RunPage<TRun>[]): readonly TRun[] {
  return [...new Map(pages.flatMap(({ runs }) => runs.map((run) => [run.runId, run] as const))).values()]
}

/** With the present state of the runs that are shown; what is not among them is left out, and nothing moves. */
export function withStates<TRun extends Listed>(list: RunPages<TRun>, current: readonly TRun[]): RunPages<TRun> {
  const byId = new Map(current.map((run) => [run.runId, run]))
  const pages = list.pages.map((page) =>
    page.runs.some(({ runId }) => byId.has(runId))
      ? { ...page, runs: page.runs.map((run) => byId.get(run.runId) ?? run) }
      : page,
  )
  return { ...list, pages }
}

/**
 * What is newer than the runs that are shown, by the newest page as it is now. `isWhole` says whether that page reaches down to
 * them; where it does not, there are more than it tells.
 */
export function newerThan<TRun extends Listed>(
  list: RunPages<TRun>,
  newest: RunPage<TRun>,
): { readonly runs: readonly TRun[]; readonly isWhole: boolean } {
  const shown = new Set(list.pages.flatMap(({ runs }) => runs.map(({ runId }) => runId)))
  const meeting = newest.runs.findIndex(({ runId }) => shown.has(runId))
  if (meeting === -1) return { runs: newest.runs, isWhole: shown.size === 0 && newest.next === null }
  return { runs: newest.runs.slice(0, meeting), isWhole: true }
}

/** With newer runs on top. */
export function withNewer<TRun extends Listed>(list: RunPages<TRun>, newer: readonly TRun[]): RunPages<TRun> {
  const [first, ...rest] = list.pages
  if (first === undefined || newer.length === 0) return list
  const known = new Set(first.runs.map(({ runId }) => runId))
  const added = newer.filter(({ runId }) => !known.has(runId))
  return { ...list, pages: [{ ...first, runs: [...added, ...first.runs] }, ...rest] }
}

/** What the page was asked with that holds the run at this place of the list; null for the first page. */
export function cursorAt<TRun extends Listed>({ pages }: RunPages<TRun>, index: number): string | null {
  let left = index
  for (const [page, { runs }] of pages.entries()) {
    if (left < runs.length) return pages[page - 1]?.next ?? null
    left -= runs.length
  }
  return null
}
