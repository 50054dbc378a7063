/** How quantities are written on the page: short, and without meaningless digits. */

export function durationText(ms: number): string {
  if (ms < 1) return '<1 ms'
  if (ms < 1_000) return `${Math.round(ms)} ms`
  if (ms < 60_000) return `${(ms / 1_000).toFixed(ms < 10_000 ? 2 : 1)} s`
  const minutes = Math.floor(ms / 60_000)
  if (minutes < 60) return `${minutes} min ${Math.floor((ms % 60_000) / 1_000)} s`
  return `${Math.floor(minutes / 60)} h ${minutes % 60} min`
}

const whole = new Intl.NumberFormat('en', { maximumFractionDigits: 0 })

export const countText = (count: number): string => whole.format(count)

/** `1 row`, `2 rows`. */
export const countOf = (count: number, noun: string): string =>
  `${countText(count)} ${noun}${count === 1 ? '' : 's'}`

/** What went in and what came out. */
export const tokensText = ({ input, output }: { input: number; output: number }): string =>
  `${countText(input)} → ${countText(output)}`

export function sizeText(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`
  if (bytes < 1_000_000) return `${(bytes / 1_000).toFixed(bytes < 10_000 ? 1 : 0)} kB`
  return `${(bytes / 1_000_000).toFixed(bytes < 10_000_000 ? 1 : 0)} MB`
}

export function costText(dollars: number): string {
  if (dollars === 0) return '$0'
  if (dollars < 0.0001) return '<$0.0001'
  return `$${dollars.toFixed(dollars < 0.01 ? 4 : dollars < 1 ? 3 : 2)}`
}

const relative = new Intl.RelativeTimeFormat('en', { numeric: 'auto' })
const spans = [
  ['day', 86_400_000],
  ['hour', 3_600_000],
  ['minute', 60_000],
  ['second', 1_000],
] as const

/** In the largest unit of which there is a whole one: 3 days ago. */
export function agoText(at: Date, now: Date): string {
  const ms = at.getTime() - now.getTime()
  const [unit, length] = spans.find(([, length]) => Math.abs(ms) >= length) ?? ['second', 1_000]
  return relative.format(Math.trunc(ms / length), unit)
}

const clock = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit', second: '2-digit' })
const minutes = new Intl.DateTimeFormat('en-GB', { hour: '2-digit', minute: '2-digit' })
const day = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short' })
const dayOfYear = new Intl.DateTimeFormat('en-GB', { day: 'numeric', month: 'short', year: 'numeric' })

/** Local time, as short as is unambiguous. */
export function timeText(at: Date, now: Date, toThe: 'second' | 'minute' | 'day' = 'second'): string {
  const ofDay = (toThe === 'second' ? clock : minutes).format(at)
  if (toThe !== 'day' && at.toDateString() === now.toDateString()) return ofDay
  const date = at.getFullYear() === now.getFullYear() ? day.format(at) : dayOfYear.format(at)
  return toThe === 'day' ? date : `${date}, ${ofDay}`
}
