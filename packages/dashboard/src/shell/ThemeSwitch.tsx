import { useState } from 'react'
import { IconButton } from '../design/Button.tsx'
import { chooseTheme, nextTheme, rememberedTheme } from './theme.ts'

/** Goes through the themes: as the system, light, dark. */
export function ThemeSwitch() {
  const [theme, setTheme] = useState(rememberedTheme)
  return (
    <IconButton
      icon={theme}
      size="small"
      label={`Theme: ${theme === 'system' ? 'as the system' : theme}`}
      onClick={() => {
        const next = nextTheme(theme)
        chooseTheme(next)
        setTheme(next)
      }}
    />
  )
}
