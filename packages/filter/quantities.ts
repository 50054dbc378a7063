import { FilterError } from './filter.ts'

const units: Record<string, number> = {
  us: 0.001,
  ms: 1,
  s: 1_000,
  m: 60_000,
  min: 60_000,
  h: 3_600_000,
  d: 86_400_000,
}
const sizes: Record<string, number> = { b: 1, kb: 1_000, mb: 1_000_000, gb: 1_000_000_000 }

/** In milliseconds. */
export function readDuration(text: string): number {
  const found = /^(\d+(?:\.\d+)?)(us|ms|s|min|m|h|d)$/.exec(text)
  if (!found) throw new FilterError(`${text} is not a duration: 300ms, 2s, 5m, 1h or 7d.`)
  return Number(found[1]) * (units[found[2] as string] as number)
}

export function readSize(text: string): number {
  const found = /^(\d+(?:\.\d+)?)(b|kb|mb|gb)?$/i.exec(text)
  if (!found) throw new FilterError(`${text} is not a size: 500, 20kB or 1MB.`)
  return Number(found[1]) * (sizes[(found[2] ?? 'b').toLowerCase()] as number)
}

/** The ways to write milliseconds or bytes, the shortest first. */
export const quantityTexts = (value: number): string[] =>
  [units, sizes]
    .flatMap((names) => Object.entries(names).map(([name, unit]) => `${value / unit}${name}`))
    .sort((a, b) => a.length - b.length)

/** ISO 8601; without an offset it is local time. */
export function readTime(text: string): string {
  const isTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d{1,6})?)?(?:Z|[+-]\d\d:\d\d)?)?$/.test(text)
  const time = Date.parse(/T/.test(text) ? text : `${text}T00:00`)
  if (!isTime || Number.isNaN(time)) {
    throw new FilterError(`${text} is not a time: 2026-01-31, 2026-01-31T12:00 or 2026-01-31T12:00Z.`)
  }
  // A time with an offset keeps its digits.
  return /T.*(?:Z|[+-]\d\d:\d\d)$/.test(text) ? text : new Date(time).toISOString()
}

/** A number; undefined where JavaScript would change its digits. */
export function exactNumber(text: string): number | undefined {
  if (!/^-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?$/.test(text)) return undefined
  const digits = text
    .replace(/[eE].*/, '')
    .replace(/[-.]/g, '')
    .replace(/^0+/, '')
  return digits.length <= 15 && Number.isFinite(Number(text)) ? Number(text) : undefined
}
