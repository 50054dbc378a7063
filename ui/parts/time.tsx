import { timeText } from '../value/units.ts'

/** Local time, with UTC in the tooltip. */
export function Time({ at }: { at: string }) {
  const date = new Date(at)
  return (
    <time dateTime={at} title={at}>
      {timeText(date, new Date())}
    </time>
  )
}
