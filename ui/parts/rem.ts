import { signal } from '@preact/signals'

const read = () => Number.parseFloat(getComputedStyle(document.documentElement).fontSize)

/** Pixels of a rem. Users may choose larger letters in their browser, and very large screens get them by style/base.css. */
export const rem = signal(read())

addEventListener('resize', () => {
  rem.value = read()
})
