import type { LightCall } from '../../src/operations/views/contract.ts'
import { keepCalls } from '../server/calls.ts'
import { feedbackOf, keepSilence } from '../server/feedback.ts'
import { countText } from '../value/units.ts'

/** Of more calls a file has the values of the first. */
const mostCalls = 1_000
const mostBytes = 32_000_000

interface Kept {
  id: string
  storage_size_bytes: number
  /** Somebody has said something of it. */
  isSaid: boolean
}

/** Keeps the values of these calls and what was said of them, as far as a file has room. Returns of how many. */
export async function keepWhole(
  project: string,
  calls: readonly Kept[],
  kept: Map<string, string>,
  signal: AbortSignal,
): Promise<number> {
  const whole = withinReach(calls)
  await keepCalls(
    project,
    whole.map(({ id }) => id),
    kept,
    signal,
  )
  for (const { id, isSaid } of whole) {
    if (isSaid) await feedbackOf(project, id, signal)
    else keepSilence(project, id, kept)
  }
  return whole.length
}

/** The first is within, however large it is. */
function withinReach(calls: readonly Kept[]): readonly Kept[] {
  let bytes = 0
  return calls.slice(0, mostCalls).filter(({ storage_size_bytes }, index) => {
    bytes += storage_size_bytes
    return bytes <= mostBytes || index === 0
  })
}

/** Of longer lists a file has the first rows. */
export const mostListed = mostCalls

interface Listed {
  project: string
  calls: readonly LightCall[]
  /** How many the list has on the server; undefined where nobody counts. */
  all: number | undefined
  /** What its rows are: `calls`. */
  what: string
}

/** The calls of a list, so that each can be opened in the file. */
export async function keepList(
  { project, calls, all, what }: Listed,
  kept: Map<string, string>,
  signal: AbortSignal,
): Promise<{ rows: number; holds: string[] }> {
  const rows = calls.length
  const said = calls.map((call) => ({ ...call, isSaid: call.feedback.length > 0 }))
  const whole = await keepWhole(project, said, kept, signal)
  const shown =
    all === rows
      ? `all ${countText(rows)} ${what}`
      : `the first ${countText(rows)}${all === undefined ? '' : ` of ${countText(all)}`} ${what}`
  const values = whole === rows ? 'whole, and what was said of them' : `and the values of ${countText(whole)}`
  return { rows, holds: [`It holds ${shown}, ${values}.`] }
}
