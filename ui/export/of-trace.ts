import { paths } from '../places.ts'
import { keepCalls, mostOfTrace, nameOf, readTrace, type TraceCall } from '../server/calls.ts'
import { feedbackOf, keepSilence } from '../server/feedback.ts'
import { countText } from '../value/units.ts'
import type { Exported } from './make.ts'

/** Of larger traces a file has the values of the first calls. */
const mostCalls = 1_000
const mostBytes = 32_000_000

/** A trace with the values of its calls: first of the one that is looked at, then from the top. */
export function exportOfTrace(
  project: string,
  trace: string,
  chosen: string | undefined,
  root: TraceCall | undefined,
): Exported {
  return {
    title: root ? `Trace of ${nameOf(root)}` : 'Trace',
    project,
    path: paths.trace(project, trace, chosen),
    name: `trace-${trace}`,
    async collect(kept, signal) {
      const rows = await readTrace(project, trace, signal)
      const whole = withinReach(rows, chosen)
      const ids = whole.map(({ id }) => id)
      await keepCalls(project, ids, kept, signal)
      for (const { id, feedback } of whole) {
        if (feedback > 0) await feedbackOf(project, id, signal)
        else keepSilence(project, id, kept)
      }
      return { holds: holds(rows.length, ids.length) }
    },
  }
}

function withinReach(rows: readonly TraceCall[], chosen: string | undefined): TraceCall[] {
  const ordered = rows.toSorted((one, other) => Number(other.id === chosen) - Number(one.id === chosen))
  let bytes = 0
  return ordered.slice(0, mostCalls).filter(({ id, storage_size_bytes }) => {
    bytes += storage_size_bytes
    return bytes <= mostBytes || id === chosen
  })
}

function holds(all: number, whole: number): string[] {
  const ofTrace = all === mostOfTrace ? `the first ${countText(all)} calls` : `all ${countText(all)} calls`
  if (whole === all) return [`It holds ${ofTrace} of the trace, whole, and what was said of them.`]
  return [`It holds ${ofTrace} of the trace, and the values of ${countText(whole)} of them.`]
}
