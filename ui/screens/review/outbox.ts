import { signal } from '@preact/signals'
import { RefusedError, UnreachableError } from '../../server/request.ts'

const firstPauseMs = 1_000
const longestPauseMs = 10_000

interface Work {
  /** Safe to repeat. */
  run(): Promise<void>
  /** The server refused it, and would again. */
  onRefused(error: Error): void
}

/** Performs writes one after the other, and retries each until the server accepts or refuses it. */
export function createOutbox() {
  const waiting = signal(0)
  /** Why a write is being retried. */
  const fault = signal<string | undefined>(undefined)
  const works: { work: Work; done(): void }[] = []
  let isRunning = false

  async function drain(): Promise<void> {
    if (isRunning) return
    isRunning = true
    let pause = firstPauseMs
    for (let next = works[0]; next !== undefined; next = works[0]) {
      try {
        await next.work.run()
      } catch (error) {
        if (isPassing(error)) {
          fault.value = (error as Error).message
          await new Promise((resolve) => setTimeout(resolve, pause))
          pause = Math.min(longestPauseMs, pause * 2)
          continue
        }
        next.work.onRefused(error as Error)
      }
      pause = firstPauseMs
      fault.value = undefined
      works.shift()
      waiting.value = works.length
      next.done()
    }
    isRunning = false
  }

  return {
    waiting,
    fault,
    /** Resolves once the server has accepted or refused it. */
    add(work: Work): Promise<void> {
      return new Promise((resolve) => {
        works.push({ work, done: resolve })
        waiting.value = works.length
        void drain()
      })
    },
  }
}

const isPassing = (error: unknown): boolean =>
  error instanceof UnreachableError ||
  (error instanceof RefusedError && (error.status >= 500 || error.status === 429))
