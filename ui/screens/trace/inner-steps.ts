import { signal } from '@preact/signals'
import { storageIn } from '../../browser-storage.ts'
import type { TraceCall } from '../../server/calls.ts'

const storageName = 'heddle.inner-steps'
const storage = storageIn(() => sessionStorage)

/** The choice stays for the session, in every trace. */
export const showsInnerSteps = signal(storage?.getItem(storageName) === 'shown')

export function turnInnerSteps(): void {
  showsInnerSteps.value = !showsInnerSteps.value
  storage?.setItem(storageName, showsInnerSteps.value ? 'shown' : '')
}

/**
 * The calls without the insides of frameworks, whose callers take over what runs below them. What failed or runs, what
 * has feedback, and what begins a trace stays, and so does everything where there is nothing else.
 */
export function withoutInnerSteps(rows: readonly TraceCall[]): readonly TraceCall[] {
  if (rows.every(({ is_inner_step }) => is_inner_step)) return rows
  const callers = new Map(rows.map(({ id, parent_id }) => [id, parent_id]))
  const isHidden = ({ is_inner_step, status, feedback, parent_id }: TraceCall) =>
    is_inner_step && !/^(error|running)$/.test(status) && feedback === 0 && callers.has(parent_id ?? '')
  const shown = rows.filter((row) => !isHidden(row))
  for (const { id } of shown) callers.delete(id)
  /** Each hidden call is passed once, also in a circle of callers. */
  const callerOf = (id: string | null): string | null => {
    const passed: string[] = []
    let caller = id
    for (let above = callers.get(caller ?? ''); above !== undefined; above = callers.get(caller ?? '')) {
      passed.push(caller as string)
      callers.set(caller as string, null)
      caller = above
    }
    for (const hidden of passed) callers.set(hidden, caller)
    return caller
  }
  return shown.map((row) => ({ ...row, parent_id: callerOf(row.parent_id) }))
}
