import type { FunctionComponent } from 'preact'
import { useEffect, useState } from 'preact/hooks'
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
    loading ??= load()
    return loading
  }
  /** Whoever goes there tries again, and is told. */
  const failedAhead = () => {
    loading = undefined
  }
  function Lazily(props: Props) {
    // A component is a function, which a setter of state would call.
    const [there, setThere] = useState({ Screen: kept })
    const [error, setError] = useState<Error>()
    useEffect(() => {
      if (kept !== undefined) return
      begin().then(
        (Screen) => {
          kept = Screen
          setThere({ Screen })
        },
        // A server that was updated meanwhile has other files.
        () => setError(new Error('This part of the page could not be loaded.')),
      )
    }, [])
    const { Screen } = there
    if (Screen !== undefined) return <Screen {...props} />
    return (
      <Frame class="screen">
        {error ? <Failed error={error} again={() => location.reload()} /> : <Skeleton rows={12} />}
      </Frame>
    )
  }
  return Object.assign(Lazily, { ahead: () => void begin().catch(failedAhead) })
}
