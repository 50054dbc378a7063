import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { Failed, Skeleton } from './states.tsx'

/** A screen that is loaded when somebody goes there for the first time. */
export function lazy<Props extends object>(
  load: () => Promise<ComponentType<Props>>,
): (props: Props) => preact.JSX.Element {
  let known: ComponentType<Props> | undefined
  return function Lazy(props: Props) {
    const [Loaded, setLoaded] = useState(() => known)
    const [error, setError] = useState<Error>()
    const find = () => {
      setError(undefined)
      load().then((found) => {
        known = found
        setLoaded(() => found)
      }, setError)
    }
    useEffect(() => {
      if (known === undefined) find()
    }, [])
    if (Loaded) return <Loaded {...props} />
    return <main class="screen">{error ? <Failed error={error} again={find} /> : <Skeleton rows={12} />}</main>
  }
}
