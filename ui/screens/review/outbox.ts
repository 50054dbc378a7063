import { signal } from '@preact/signals'
import { Refused, Unreachable } from '../../server/ask.ts'

const firstPauseMs = 1_000
const longestPauseMs = 10_000

interface Work {
  /** Safe to be repeated. */
  run(): Promise<void>
  /** The server says no; to ask again would change nothing. */
  onRefused(error: Error): void
}

/** Writes one after the other, and each until the server has taken or refused it. */
export function createOutbox() {
  const waiting = signal(0)
  /** Why it is tried again. */
  const trouble = signal<string | undefined>(undefined)
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
          trouble.value = (error as Error).message
          await new Promise((resolve) => setTimeout(resolve, pause))
          pause = Math.min(longestPauseMs, pause * 2)
          continue
        }
        next.work.onRefused(error as Error)
      }
      pause = firstPauseMs
      trouble.value = undefined
      works.shift()
      waiting.value = works.length
      next.done()
    }
    isRunning = false
  }

  return {
    waiting,
    trouble,
    /** Fulfilled once the server has taken or refused it. */
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
  error instanceof Unreachable || (error instanceof Refused && (error.status >= 500 || error.status === 429))
