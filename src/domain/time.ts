import { clockNow } from './clock.ts'

/** Times are integer microseconds since 1970, as far as a double counts them: the years 1684 to 2255. */

const iso =
  /^(\d{4})-(\d{2})-(\d{2})(?:[Tt ](\d{2}):(\d{2})(?::(\d{2})(?:[.,](\d{1,6})0*)?)?(?: ?([Zz]|[+-]\d{2}(?::?\d{2})?))?)?$/

/**
 * Reads ISO 8601 with any offset, down to microseconds. Without an offset it is UTC, without a time of day midnight.
 * Digits below a microsecond are not read, because they could not be given back.
 */
export function parseTime(text: string): number | undefined {
  const match = iso.exec(text)
  if (match === null) return undefined
  const [, year, month, day, hour = '0', minute = '0', second = '0', fraction = '', offset = 'Z'] = match
  const wall = new Date(
    Date.UTC(Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)),
  )
  // Date.UTC carries over what does not exist, such as 30 February or 24:00, and takes the year 26 for 1926.
  const given = [Number(year), Number(month) - 1, Number(day), Number(hour), Number(minute), Number(second)]
  const carried = [
    wall.getUTCFullYear(),
    wall.getUTCMonth(),
    wall.getUTCDate(),
    wall.getUTCHours(),
    wall.getUTCMinutes(),
    wall.getUTCSeconds(),
  ]
  if (given.some((part, index) => part !== carried[index])) return undefined
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
/** What is listed together mostly began on one day, and a calendar costs more than all the rest of a time. */
let lastDay = { day: 0, text: '1970-01-01T' }

function textOfDay(day: number): string {
  if (lastDay.day !== day) {
    const text = new Date(day * daySeconds * 1000).toISOString().slice(0, -'00:00:00.000Z'.length)
    lastDay = { day, text }
  }
  return lastDay.text
}

const twoDigits = (value: number) => (value < 10 ? `0${value}` : String(value))

/** `2026-01-02T03:04:05.123456Z`: no fraction when there is none, else three to six digits. */
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

/** How far the last time may be ahead of the clock. A clock that is set back further than that is followed. */
const mostAhead = 1_000_000

let last = 0

/** Later than the time before, so that what happens within one tick of the clock keeps its order. */
export function monotonicNow(): number {
  const time = now()
  last = time > last || time < last - mostAhead ? time : last + 1
  return last
}
