import { effect, signal } from '@preact/signals'

export const themes = ['system', 'light', 'dark'] as const
export type Theme = (typeof themes)[number]

const name = 'heddle.theme'
const kept = localStorage.getItem(name)

export const theme = signal<Theme>(themes.find((one) => one === kept) ?? 'system')

effect(() => {
  const chosen = theme.value
  localStorage.setItem(name, chosen)
  if (chosen === 'system') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = chosen
})

export function nextTheme(): void {
  theme.value = themes[(themes.indexOf(theme.value) + 1) % themes.length] as Theme
}
