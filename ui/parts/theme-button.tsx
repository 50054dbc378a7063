import { Icon } from './icon.tsx'
import { nextTheme, theme, themeIcons } from './theme.ts'

/** Switches between light, dark and the theme of the system. */
export function ThemeButton() {
  const name = `Theme: ${theme.value}`
  return (
    <button type="button" class="icon-button" aria-label={name} title={name} onClick={nextTheme}>
      <Icon name={themeIcons[theme.value]} />
    </button>
  )
}
