import { effect, signal } from '@preact/signals'
import { storageIn } from '../browser-storage.ts'

export const themes = ['system', 'light', 'dark'] as const
type Theme = (typeof themes)[number]

export const themeIcons = { system: 'screen', light: 'sun', dark: 'moon' } as const

const name = 'heddle.theme'
const storage = storageIn(() => localStorage)
const kept = storage?.getItem(name)

export const theme = signal<Theme>(themes.find((one) => one === kept) ?? 'system')

effect(() => {
  const chosen = theme.value
  storage?.setItem(name, chosen)
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
})

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] as Theme
}
