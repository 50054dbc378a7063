import { agoText, timeText } from '../value/units.ts'

/** Local time, with UTC and how long ago that was in the tooltip. */
export function Time({ at }: { at: string }) {
  const date = new Date(at)
  return (
    <time dateTime={at} title={`${at}, ${agoText(date, new Date())}`}>
      {timeText(date, new Date())}
    </time>
  )
}
