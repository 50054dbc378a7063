import { signal } from '@preact/signals'

const read = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize)

/** Pixels of a rem. People choose larger letters in their browser, and a very large screen has them anyhow: style/base.css. */
export const rem = signal(read())

addEventListener('resize', () => {
  rem.value = read()
})
