import { useEffect, useRef, useState } from 'preact/hooks'
import { Icon } from '../parts/icon.tsx'
import { useShortcuts } from '../parts/shortcuts.ts'
import type { Exported } from './make.ts'

interface Props {
  /** What is exported, such as `trace`. */
  what: string
  /** Loads the code of this export, when the button is used. */
  load(): Promise<Exported>
  /** When a screen has several of these buttons, only one has the key. */
  hasKey?: boolean
}

/** Saves what is on the screen as one file that can be read without a server. */
export function ExportButton({ what, load, hasKey = false }: Props) {
  const running = useRef<AbortController>(undefined)
  const [state, setState] = useState<{ is: 'not' | 'running' | 'done'; said?: string; failure?: string }>({
    is: 'not',
  })
  useEffect(() => () => running.current?.abort(), [])
  const run = async () => {
    if (state.is === 'running') return running.current?.abort()
    const controller = new AbortController()
    running.current = controller
    setState({ is: 'running' })
    try {
      const [exported, { exportScreen }] = await Promise.all([load(), import('./all.ts')])
      const holds = await exportScreen(exported, controller.signal)
      setState({ is: 'done', said: `Exported. ${holds.join(' ')}` })
    } catch (given) {
      setState(controller.signal.aborted ? { is: 'not' } : { is: 'not', failure: (given as Error).message })
    }
  }
  const label = `Export ${what} as one file`
  useShortcuts('Export', hasKey ? [{ keys: ['e'], does: label, run: () => void run() }] : [])
  return (
    <>
      <button
        type="button"
        aria-label={state.is === 'running' ? 'Stop the export' : label}
        title={state.said ?? label}
        onClick={() => void run()}
      >
        <Icon name="export" />
        <span class="wide-only">{state.is === 'running' ? 'Stop' : `Export ${what}`}</span>
      </button>
      <span class={state.failure === undefined ? 'hidden-text' : 'problem'} role="status">
        {state.failure ?? state.said}
      </span>
    </>
  )
}
