import { setTimeout as sleep } from 'node:timers/promises'

/** Work that repeats while requests are served. */
export interface BackgroundWork {
  /** Resolves when the current step has ended; no further step begins. */
  stop(): Promise<void>
}

interface BackgroundStep {
  /** Resolves to the pause in milliseconds before the next step. The signal aborts when the work is stopped. */
  run(signal: AbortSignal): Promise<number>
  /** Pause before the first step. */
  firstMs: number
  /** Pause after a step that failed. */
  failedMs: number
  failed(error: unknown): void
}

/** Runs one step after the other, never two at once. Its timer does not keep the process alive. */
export function inBackground({ run, firstMs, failedMs, failed }: BackgroundStep): BackgroundWork {
  const stopping = new AbortController()
  let timer: NodeJS.Timeout | undefined
  let running: Promise<void> = Promise.resolve()

  async function step(): Promise<void> {
    let pause = failedMs
    try {
      pause = await run(stopping.signal)
    } catch (error) {
      failed(error)
    }
    plan(pause)
  }

  function plan(pause: number): void {
    if (stopping.signal.aborted) return
    timer = setTimeout(() => {
      running = step()
    }, pause)
    timer.unref()
  }

  plan(firstMs)
  return {
    async stop() {
      stopping.abort()
      clearTimeout(timer)
      await running
    },
  }
}

interface Hold {
  everyMs: number
  renew(): Promise<unknown>
  /** Told of what renewing failed with: another process may take over, and what both do is written once. */
  failed(error: unknown): void
}

/** Renews a hold while work goes on. */
export async function whileHeld<Result>(
  { everyMs, renew, failed }: Hold,
  work: () => Promise<Result>,
): Promise<Result> {
  const ended = new AbortController()
  const renewing = (async () => {
    while (!ended.signal.aborted) {
      await sleep(everyMs, undefined, { signal: ended.signal, ref: false })
      await renew()
    }
  })().catch((error: unknown) => {
    if (!ended.signal.aborted) failed(error)
  })
  try {
    return await work()
  } finally {
    ended.abort()
    await renewing
  }
}
