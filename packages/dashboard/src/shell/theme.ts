/** How the page looks: as the system says, or as a person chose here. */
export const THEMES = ['system', 'light', 'dark'] as const
export type Theme = (typeof THEMES)[number]

const KEY = 'starflow.theme'

export function rememberedTheme(): Theme {
  const kept = storage()?.getItem(KEY)
  return THEMES.find((theme) => theme === kept) ?? 'system'
}

export function applyRememberedTheme(): void {
  apply(rememberedTheme())
}

export function chooseTheme(theme: Theme): void {
  if (theme === 'system') storage()?.removeItem(KEY)
  else storage()?.setItem(KEY, theme)
  apply(theme)
}

export function nextTheme(theme: Theme): Theme {
  return THEMES[(THEMES.indexOf(theme) + 1) % THEMES.length] as Theme
}

function apply(theme: Theme): void {
  if (theme === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme
}

/** Browsers may be told to keep nothing; then the choice lasts as long as the page. */
function storage(): Storage | undefined {
  try {
    return window.localStorage
  } catch {
    return undefined
  }
}
