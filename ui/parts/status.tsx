import type { CallStatus } from '../server/calls.ts'

type Shown = CallStatus | 'stopped' | 'no_rows'

/** As filters name them, but for people. */
export const statusWords: Record<Shown, string> = {
  success: 'success',
  error: 'error',
  running: 'running',
  descendant_error: 'error below',
  stopped: 'stopped',
  no_rows: 'no rows',
}

/** The state is never shown by colour alone. */
export function Status({ status, isShort = false }: { status: Shown; isShort?: boolean }) {
  return (
    <span class="status" data-status={status} title={statusWords[status]}>
      <span class={isShort ? 'hidden-text' : ''}>{statusWords[status]}</span>
    </span>
  )
}
