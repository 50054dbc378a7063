import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ask, isPassing } from '../server/ask.ts'
import { Failed, Skeleton } from './states.tsx'

type Later<Props> = FunctionComponent<Props> & {
  /** Somebody will go there, and something else is waited for before. */
  ahead(): void
}

/** A screen, or a part of one, whose code comes when somebody goes there, so that the first view stays small. */
export function lazily<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
  { isPart = false } = {},
): Later<Props> {
  const Frame = isPart ? 'div' : 'main'
  let kept: FunctionComponent<Props> | undefined
  let loading: Promise<FunctionComponent<Props>> | undefined
  function begin() {
    loading ??= load().catch((error: unknown) => {
      // What is asked for next is asked of the server.
      loading = undefined
      throw error
    })
    return loading
  }
  function Lazily(props: Props) {
    // A component is a function, which a setter of state would call.
    const [there, setThere] = useState({ Screen: kept })
    const [error, setError] = useState<Error>()
    const [turn, setTurn] = useState(0)
    useEffect(() => {
      if (kept !== undefined) return
      let isLeft = false
      begin().then(
        (Screen) => {
          kept = Screen
          setThere({ Screen })
        },
        async () => {
          const why = await failure()
          // Somebody may be writing on another screen by now.
          if (isLeft) return
          // A browser may not ask again for a module that failed to load until the page is reloaded: the
          // module map of HTML keeps the failure. Nothing is lost, because this screen was never there.
          if (!isPart && !isPassing(why) && !wasJustReloaded()) location.reload()
          else setError(why)
        },
      )
      return () => {
        isLeft = true
      }
    }, [turn])
    const { Screen } = there
    if (Screen !== undefined) return <Screen {...props} />
    return (
      <Frame class="screen">
        {error ? (
          <Failed
            error={error}
            again={isPassing(error) ? () => setTurn(turn + 1) : () => location.reload()}
          />
        ) : (
          <Skeleton rows={12} />
        )}
      </Frame>
    )
  }
  // Whoever goes there tries again, and is told.
  return Object.assign(Lazily, { ahead: () => void begin().catch(() => undefined) })
}

/** One reload is enough: a screen that still does not load then says so. */
function wasJustReloaded(): boolean {
  const [loading] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return loading?.type === 'reload' && performance.now() < 10_000
}

/** Why code did not come: the server is away, or it was updated meanwhile and has other files. */
const failure = (): Promise<Error> =>
  ask('/health').then(
    () => new Error('This part of the page could not be loaded.'),
    (error: Error) => error,
  )
