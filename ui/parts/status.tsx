import type { CallStatus } from '../server/calls.ts'

const words: Record<CallStatus, string> = {
  success: 'done',
  error: 'failed',
  running: 'running',
  descendant_error: 'failed below',
}

/** The state is never shown by colour alone. */
export function Status({ status, isShort = false }: { status: CallStatus; isShort?: boolean }) {
  return (
    <span class="status" data-status={status} title={words[status]}>
      <span class={isShort ? 'hidden-text' : ''}>{words[status]}</span>
    </span>
  )
}
