import { formatTime } from '../../domain/time.ts'

const dayMs = 86_400_000

/** A day of UTC: 2026-11-22. */
export const dayOf = (time: number): string => formatTime(time).slice(0, 10)

/** The time when the day is over. */
export function endOfDay(day: string): string {
  return `${new Date(Date.parse(day) + dayMs).toISOString().slice(0, 10)}T00:00:00Z`
}
