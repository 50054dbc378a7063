import { formatTime, monotonicNow } from '../../domain/time.ts'

export const maxDays = 31
const maxBuckets = 10_000

const hour = 3_600
const day = 86_400

interface RangeBody {
  start: number
  end?: number | null | undefined
  granularity?: number | null | undefined
  timezone?: string | null | undefined
}

/** Times are microseconds. */
interface Buckets {
  start: number
  end: number
  /** Seconds. */
  granularity: number
  timezone: string
  /** Where each bucket begins; the first may begin before the range. */
  edges: number[]
}

export function isTimezone(name: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: name })
    return true
  } catch {
    return false
  }
}

/** Days begin at midnight of the time zone, also where its clocks change. Shorter buckets all have the same length. */
export function bucketsOf(body: RangeBody): Buckets {
  const { start } = body
  // Includes what was written within this tick of the clock.
  const end = body.end ?? monotonicNow()
  const timezone = body.timezone ?? 'UTC'
  const seconds = (end - start) / 1_000_000
  const minStep = Math.ceil(seconds / (maxBuckets - 2))
  const granularity = Math.max(body.granularity ?? granularityOf(seconds), minStep)
  const step = granularity * 1_000_000
  const offsetAt = offsetsOf(timezone)
  const offset = offsetAt(start)
  const local = Math.floor((start + offset) / step) * step
  const edgeAt = (index: number) => {
    const wall = local + index * step
    return granularity % day === 0 ? timeOfWall(wall, offsetAt) : wall - offset
  }
  const edges: number[] = []
  for (let edge = edgeAt(0); edge < end; edge = edgeAt(edges.length)) edges.push(edge)
  return { start, end, granularity, timezone, edges }
}

export const rangeOf = ({ start, end, granularity, timezone }: Buckets) => ({
  ...{ start: formatTime(start), end: formatTime(end), granularity, timezone },
})

function granularityOf(seconds: number): number {
  if (seconds <= 2 * hour) return 300
  if (seconds <= 12 * hour) return hour
  if (seconds <= 3 * day) return 6 * hour
  return seconds <= 14 * day ? 12 * hour : day
}

type OffsetAt = (time: number) => number

/** How far the clocks of a time zone are ahead of UTC, in microseconds. */
function offsetsOf(timeZone: string): OffsetAt {
  const format = new Intl.DateTimeFormat('en', { timeZone, timeZoneName: 'longOffset' })
  return (time) => {
    const named = format.formatToParts(Math.floor(time / 1000)).find(({ type }) => type === 'timeZoneName')
    const name = named?.value ?? ''
    const [, sign = '+', hours = '0', minutes = '0', seconds = '0'] =
      /([+-\u2212])(\d{2}):(\d{2})(?::(\d{2}))?/.exec(name) ?? []
    const offset = Number(hours) * hour + Number(minutes) * 60 + Number(seconds ?? 0)
    return (sign === '+' ? offset : -offset) * 1_000_000
  }
}

/** When clocks first show this time; in an hour that a change skips, when they are set. */
function timeOfWall(wall: number, offsetAt: OffsetAt): number {
  const around = [wall - day * 1_000_000, wall + day * 1_000_000].map(offsetAt)
  const largest = Math.max(...around)
  const first = wall - largest
  return offsetAt(first) === largest ? first : wall - Math.min(...around)
}
