import { useEffect, useState } from 'preact/hooks'

/** Something that was asked for. What was there before stays to be shown until the new has come. */
export interface Loading<T> {
  value?: T
  error?: Error
  isLoading: boolean
  again(): void
}

/** Asks whenever one of `of` has changed, and drops what was asked before. */
export function useLoading<T>(load: (signal: AbortSignal) => Promise<T>, of: readonly unknown[]): Loading<T> {
  const [turn, setTurn] = useState(0)
  const [state, setState] = useState<Omit<Loading<T>, 'again'>>({ isLoading: true })
  useEffect(() => {
    const controller = new AbortController()
    const { signal } = controller
    setState((before) => ({ ...(before.value !== undefined && { value: before.value }), isLoading: true }))
    load(signal).then(
      (value) => {
        if (!signal.aborted) setState({ value, isLoading: false })
      },
      (error: Error) => {
        if (!signal.aborted) setState({ error, isLoading: false })
      },
    )
    return () => controller.abort()
  }, [...of, turn])
  return { ...state, again: () => setTurn(turn + 1) }
}
