import { paths } from '../routes.ts'
import { mostOfTrace, nameOf, readTrace, type TraceCall } from '../server/calls.ts'
import { countText } from '../value/units.ts'
import type { Exported } from './make.ts'
import { captureWholeCalls } from './whole-calls.ts'

/** A trace with the values of its calls: first the selected one, then from the top. */
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
      const ordered = rows
        .map((row) => ({ ...row, isSaid: row.feedback > 0 }))
        .toSorted((one, other) => Number(other.id === chosen) - Number(one.id === chosen))
      return { holds: holds(rows.length, await captureWholeCalls(project, ordered, kept, signal)) }
    },
  }
}

function holds(all: number, whole: number): string[] {
  const ofTrace = all === mostOfTrace ? `the first ${countText(all)} calls` : `all ${countText(all)} calls`
  if (whole === all) return [`It contains ${ofTrace} of the trace in full, with their feedback.`]
  return [`It contains ${ofTrace} of the trace, and the values of ${countText(whole)} of them.`]
}
