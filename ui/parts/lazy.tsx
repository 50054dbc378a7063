import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { isTransient, request } from '../server/request.ts'
import { Failed, Skeleton } from './states.tsx'

type LazyComponent<Props> = FunctionComponent<Props> & {
  /** Starts loading early, while something else is waited for. */
  preload(): void
}

/** A screen, or a part of one, whose code is loaded when it is shown, so that the first view stays small. */
export function lazy<Props extends object>(
  load: () => Promise<FunctionComponent<Props>>,
  { isPart = false } = {},
): LazyComponent<Props> {
  const Frame = isPart ? 'div' : 'main'
  let kept: FunctionComponent<Props> | undefined
  let loading: Promise<FunctionComponent<Props>> | undefined
  function begin() {
    loading ??= load().catch((error: unknown) => {
      // After a failure the next attempt asks the server again.
      loading = undefined
      throw error
    })
    return loading
  }
  function Lazily(props: Props) {
    // The component is wrapped in an object, because a state setter would call a bare function.
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
          // The user may be writing on another screen by now.
          if (isLeft) return
          // A browser may not ask again for a module that failed to load until the page is reloaded: the
          // module map of HTML keeps the failure. Nothing is lost, because this screen was never there.
          if (!isPart && !isTransient(why) && !wasJustReloaded()) location.reload()
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
            retry={isTransient(error) ? () => setTurn(turn + 1) : () => location.reload()}
          />
        ) : (
          <Skeleton rows={12} />
        )}
      </Frame>
    )
  }
  // A failure is ignored here: showing the screen tries again and reports it.
  return Object.assign(Lazily, { preload: () => void begin().catch(() => undefined) })
}

/** Reloads only once: a screen that still does not load then shows the error. */
function wasJustReloaded(): boolean {
  const [loading] = performance.getEntriesByType('navigation') as PerformanceNavigationTiming[]
  return loading?.type === 'reload' && performance.now() < 10_000
}

/** Why the code did not load: the server is away, or it was updated and has other files. */
const failure = (): Promise<Error> =>
  request('/health').then(
    () => new Error('This part of the page could not be loaded.'),
    (error: Error) => error,
  )
