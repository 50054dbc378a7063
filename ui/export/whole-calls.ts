import type { LightCall } from '../../src/operations/views/contract.ts'
import { captureCalls } from '../server/calls.ts'
import { captureNoFeedback, feedbackOf } from '../server/feedback.ts'
import { callRefOf } from '../value/ref.ts'
import { countText } from '../value/units.ts'

/** Calls whose values a file contains at most; of more calls, the first ones. */
const mostCalls = 1_000
const mostBytes = 32_000_000

interface Kept {
  id: string
  storage_size_bytes: number
  /** Whether the call has feedback. */
  isSaid: boolean
}

/** Keeps the values and the feedback of these calls, as far as the file has room. Returns the number of calls that it kept. */
export async function captureWholeCalls(
  project: string,
  calls: readonly Kept[],
  kept: Map<string, string>,
  signal: AbortSignal,
): Promise<number> {
  const whole = withinLimits(calls)
  await captureCalls(
    project,
    whole.map(({ id }) => id),
    kept,
    signal,
  )
  for (const { id, isSaid } of whole) {
    const about = callRefOf(project, id)
    if (isSaid) await feedbackOf(project, about, signal)
    else captureNoFeedback(project, about, kept)
  }
  return whole.length
}

/** The first call is always kept, however large it is. */
function withinLimits(calls: readonly Kept[]): readonly Kept[] {
  let bytes = 0
  return calls.slice(0, mostCalls).filter(({ storage_size_bytes }, index) => {
    bytes += storage_size_bytes
    return bytes <= mostBytes || index === 0
  })
}

/** Rows of a list in a file at most: the first ones. */
export const mostListed = mostCalls

interface Listed {
  project: string
  calls: readonly LightCall[]
  /** Rows of the list on the server; undefined where they are not counted. */
  all: number | undefined
  /** What a row is, such as `calls`. */
  what: string
}

/** Keeps the calls of a list, so that each can be opened in the file. */
export async function captureList(
  { project, calls, all, what }: Listed,
  kept: Map<string, string>,
  signal: AbortSignal,
): Promise<{ rows: number; holds: string[] }> {
  const rows = calls.length
  const said = calls.map((call) => ({ ...call, isSaid: call.feedback.length > 0 }))
  const whole = await captureWholeCalls(project, said, kept, signal)
  const shown =
    all === rows
      ? `all ${countText(rows)} ${what}`
      : `the first ${countText(rows)}${all === undefined ? '' : ` of ${countText(all)}`} ${what}`
  const values = whole === rows ? ' in full, with their feedback' : `, and the values of ${countText(whole)}`
  return { rows, holds: [`It contains ${shown}${values}.`] }
}
