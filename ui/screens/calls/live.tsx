import { useEffect, useState } from 'preact/hooks'
import { eventStreamState } from '../../server/events.ts'
import type { Rows } from './rows.ts'

/** Pause between announcements of new calls to screen readers. */
const sayMs = 5_000

/** Shows whether the list follows the record, and turns that on and off. */
export function LiveSwitch({ list }: { list: Pick<Rows, 'isPaused' | 'fresh' | 'pause'> }) {
  const isPaused = list.isPaused.value
  const state = isPaused ? 'paused' : eventStreamState.value === 'no' ? 'away' : 'live'
  const fresh = list.fresh.value
  const [said, setSaid] = useState('')
  useEffect(() => {
    const timer = setTimeout(() => setSaid(fresh > 0 ? `${fresh} new calls` : ''), said === '' ? 0 : sayMs)
    return () => clearTimeout(timer)
  }, [fresh])
  return (
    <>
      <button
        type="button"
        class="live-switch"
        data-state={state}
        aria-pressed={!isPaused}
        title={isPaused ? 'Resume live updates' : 'Pause live updates'}
        onClick={() => list.pause(!isPaused)}
      >
        <span>{isPaused ? 'Paused' : 'Live'}</span>
      </button>
      <span class="hidden-text" role="status">
        {said}
      </span>
    </>
  )
}

/** Shown when events do not arrive, so that the list may be out of date. */
export function DisconnectedNote() {
  if (eventStreamState.value !== 'no') return null
  return (
    <p class="away-note" role="status">
      The server does not answer. The list may be out of date. Reconnecting…
    </p>
  )
}
