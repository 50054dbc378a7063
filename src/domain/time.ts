import { clockNow } from './clock.ts'

/** Times are integer microseconds since 1970, within the range that a double counts exactly: the years 1684 to 2255. */

const iso =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,6})0*)?)?(?: ?([Zz]|[+-]\d{2}(?::?\d{2})?))?)?$/

/**
 * Reads ISO 8601 with any offset, down to microseconds. Without an offset it is UTC; without a time of day, midnight.
 * Digits below a microsecond are refused, because they could not be returned.
 */
export function parseTime(text: string): number | undefined {
  const match = iso.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset = 'Z'] = match
  const wall = new Date(
    Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)),
  )
  // Date.UTC normalises dates that do not exist, such as 30 February or 24:00, and reads the year 26 as 1926.
  const written = [Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)]
  const carried = [
    wall.getUTCFullYear(),
    wall.getUTCMonth(),
    wall.getUTCDate(),
    wall.getUTCHours(),
    wall.getUTCMinutes(),
    wall.getUTCSeconds(),
  ]
  if (written.some((value, index) => value !== carried[index])) return undefined
  const shift = offsetMinutes(offset)
  if (shift === undefined) return undefined
  const micros = (wall.getTime() - shift * 60_000) * 1000 + Number(fraction.padEnd(6, '0'))
  return Number.isSafeInteger(micros) ? micros : undefined
}

function offsetMinutes(offset: string): number | undefined {
  if (offset === 'Z' || offset === 'z') return 0
  const hours = Number(offset.slice(1, 3))
  const minutes = Number(offset.slice(3).replace(':', '') || '0')
  if (hours > 23 || minutes > 59) return undefined
  return (offset.startsWith('-') ? -1 : 1) * (hours * 60 + minutes)
}

const daySeconds = 86_400
/** Times in one list are mostly from the same day, and the calendar costs more than all the rest of formatting. */
let lastDay = { day: 0, text: '1970-01-01T' }

function textOfDay(day: number): string {
  if (lastDay.day !== day) {
    const text = new Date(day * daySeconds * 1000).toISOString().slice(0, -'00:00:00.000Z'.length)
    lastDay = { day, text }
  }
  return lastDay.text
}

const twoDigits = (value: number) => (value < 10 ? `0${value}` : String(value))

/** `2026-01-02T03:04:05.123456Z`: no fraction if it is zero, else three to six digits. */
export function formatTime(micros: number): string {
  const seconds = Math.floor(micros / 1_000_000)
  const fraction = micros - seconds * 1_000_000
  const day = Math.floor(seconds / daySeconds)
  const second = seconds - day * daySeconds
  const [hours, minutes] = [Math.floor(second / 3600), Math.floor(second / 60) % 60]
  const wall = `${textOfDay(day)}${twoDigits(hours)}:${twoDigits(minutes)}:${twoDigits(second % 60)}`
  if (fraction === 0) return `${wall}Z`
  const digits = String(fraction).padStart(6, '0')
  return `${wall}.${digits.slice(0, 3)}${digits.slice(3).replace(/0+$/, '')}Z`
}

export function formatTimeOrNull(micros: number | null): string | null {
  return micros === null ? null : formatTime(micros)
}

export function now(): number {
  return clockNow() * 1000
}

/** How far the last time may be ahead of the clock. If the clock is set back further than that, it is followed. */
const maxAhead = 1_000_000

let last = 0

/** Always later than the previous time, so that events within one tick of the clock keep their order. */
export function monotonicNow(): number {
  const time = now()
  last = time > last || time < last - maxAhead ? time : last + 1
  return last
}
