import { useRef, useState } from 'preact/hooks'
import { countText } from '../value/units.ts'

type DataEnding = 'jsonl' | 'csv'

interface Props {
  /** Reads what is to be a file, and saves it. */
  save(ending: DataEnding, report: (count: number) => void, signal: AbortSignal): Promise<void>
}

/** Data as a file of either kind, with how far it is, and a way to stop it. */
export function DataButtons({ save }: Props) {
  const running = useRef<AbortController>(undefined)
  const [state, setState] = useState<{ count: number } | { failure: string }>()
  const run = async (ending: DataEnding) => {
    const controller = new AbortController()
    running.current = controller
    setState({ count: 0 })
    try {
      await save(ending, (count) => setState({ count }), controller.signal)
      setState(undefined)
    } catch (error) {
      setState(controller.signal.aborted ? undefined : { failure: (error as Error).message })
    }
  }
  if (state !== undefined && 'count' in state) {
    return (
      <button type="button" onClick={() => running.current?.abort()}>
        Stop at {countText(state.count)}
      </button>
    )
  }
  return (
    <>
      <button type="button" aria-label="Export JSONL" onClick={() => void run('jsonl')}>
        JSONL
      </button>
      <button type="button" aria-label="Export CSV" onClick={() => void run('csv')}>
        CSV
      </button>
      {state !== undefined && (
        <span class="problem" role="alert">
          {state.failure}
        </span>
      )}
    </>
  )
}
