import { useEffect, useState } from 'preact/hooks'
import { maxAnswers } from '../../server/answer-slots.ts'
import { type Engine, readEngine } from '../../server/engine.ts'
import { durationText } from '../../value/units.ts'

/** The request has not been sent yet. */
export function WaitingForSlot() {
  return (
    <p class="muted waiting" role="status">
      Waiting for an answer in another tab. At most {maxAnswers} are written at once, so that the browser has
      connections left for everything else.
    </p>
  )
}

/** Pause between requests for the state of the engine. */
const pauseMs = 1_000

/** Why nothing of the answer has arrived yet. */
export function Waiting({ askedAt }: { askedAt: number }) {
  const [engine, setEngine] = useState<Engine>()
  const [now, setNow] = useState(askedAt)
  useEffect(() => {
    const controller = new AbortController()
    let isLooking = false
    const look = () => {
      setNow(performance.now())
      if (isLooking) return
      isLooking = true
      readEngine(controller.signal)
        // Failures are ignored: if the answer fails, it says so itself.
        .then(setEngine, () => undefined)
        .finally(() => {
          isLooking = false
        })
    }
    const timer = setInterval(look, pauseMs)
    return () => {
      clearInterval(timer)
      controller.abort()
    }
  }, [])
  return (
    <p class="muted waiting" role="status">
      {now === askedAt ? 'Sending the prompt…' : `For ${durationText(now - askedAt)}. ${wordsOf(engine)}`}
    </p>
  )
}

function wordsOf(engine: Engine | undefined): string {
  return (engine?.models ?? [])
    .map(({ names, slots, state, doing }) => {
      const name = names[0] ?? 'The model'
      if (slots === null) return `${name}: ${doing ?? state}.`
      const { total, running, waiting } = slots
      const busy = total === 0 ? `${running} in progress` : `${running} of ${total} slots busy`
      return `${name}: ${busy}, ${waiting === 0 ? 'none' : waiting} waiting.`
    })
    .join(' ')
}
