import { useLayoutEffect, useRef, useState } from 'preact/hooks'

/** Something that was requested. The previous value stays until the new one has arrived. */
export interface Loaded<T> {
  value?: T | undefined
  /** `value` is only the beginning, and the rest is on its way. */
  isPart?: boolean
  error?: Error
  isLoading: boolean
  reload(): void
}

/**
 * Loads whenever one of `of` has changed, and aborts the load before. `load` may show the beginning of a long answer, which is
 * used if nothing was there before.
 */
export function useLoading<T>(
  load: (signal: AbortSignal, show: (part: T) => void) => Promise<T>,
  of: readonly unknown[],
): Loaded<T> {
  const [turn, setTurn] = useState(0)
  const [state, setState] = useState<Omit<Loaded<T>, 'reload'>>({ isLoading: true })
  const lastTurn = useRef(turn)
  // A layout effect, so that the request is sent before the first frame is drawn.
  useLayoutEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    // After a retry the error stays visible until there is something else to show.
    const isSame = lastTurn.current !== turn
    lastTurn.current = turn
    setState((before) => {
      if (before.isLoading) return before
      if (isSame && before.error !== undefined) return { ...before, isLoading: true }
      return { ...(before.value !== undefined && { value: before.value }), isLoading: true }
    })
    const show = (value: T) => {
      if (!signal.aborted)
        setState((before) => (isWhole(before) ? before : { value, isPart: true, isLoading: true }))
    }
    load(signal, show).then(
      (value) => {
        if (!signal.aborted) setState({ value, isLoading: false })
      },
      (error: Error) => {
        if (!signal.aborted) setState({ error, isLoading: false })
      },
    )
    return () => controller.abort()
  }, [...of, turn])
  return { ...state, reload: () => setTurn(turn + 1) }
}

const isWhole = ({ value, isPart }: Omit<Loaded<unknown>, 'reload'>) => value !== undefined && !isPart
