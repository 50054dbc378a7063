import type { CallStatus } from '../server/calls.ts'

/** As filters name them, but for people. */
export const statusWords: Record<CallStatus, string> = {
  success: 'success',
  error: 'error',
  running: 'running',
  descendant_error: 'error below',
}

/** The state is never shown by colour alone. */
export function Status({ status, isShort = false }: { status: CallStatus; isShort?: boolean }) {
  return (
    <span class="status" data-status={status} title={statusWords[status]}>
      <span class={isShort ? 'hidden-text' : ''}>{statusWords[status]}</span>
    </span>
  )
}
