import { useEffect, useRef } from 'preact/hooks'
import { isTransient, RefusedError } from '../server/request.ts'

/** Pauses between attempts, longer each time. */
const pausesMs = [1_000, 2_000, 4_000, 8_000]

/** Retries automatically what may pass, but not before the server allows it. Returns whether it will. */
export function useAutoRetry(error: Error | undefined, retry: (() => void) | undefined): boolean {
  const isTried = retry !== undefined && isTransient(error)
  const failures = useRef(0)
  const trying = useRef(retry)
  trying.current = retry
  useEffect(() => {
    if (error === undefined) failures.current = 0
    if (!isTried) return
    const pause = pausesMs[Math.min(failures.current++, pausesMs.length - 1)] as number
    const wanted = error instanceof RefusedError ? (error.retryMs ?? 0) : 0
    const timer = setTimeout(() => trying.current?.(), Math.max(pause, wanted))
    return () => clearTimeout(timer)
  }, [error, isTried])
  return isTried
}
