import type { Server } from 'node:http'
import { promisify } from 'node:util'
import { releaseStartupMemory } from './startup-memory.ts'

/** After so long without a request: soon, and again when idle threads have ended. */
const idleMs = [10_000, 90_000]

/**
 * A server that has nothing to do gives back the memory of its last requests. V8 does so by itself only where nothing is
 * allocated, and background work looks for something to do a few times a second.
 */
export function returnIdleMemory(server: Server, failed: (error: unknown) => void): void {
  let timers: NodeJS.Timeout[] = []
  let running = 0
  const wake = () => {
    for (const timer of timers) clearTimeout(timer)
  }
  const release = () => void releaseStartupMemory().then(trimHeap).catch(failed)
  const rest = () => {
    wake()
    if (running > 0) return
    timers = idleMs.map((ms) => setTimeout(release, ms).unref())
  }
  server.on('request', (_request, response) => {
    running += 1
    wake()
    response.once('close', () => {
      running -= 1
      rest()
    })
  })
  server.once('close', wake)
}

/**
 * Gives back to the system what was freed outside V8. glibc keeps it in a heap for each thread that ever ran: 11 of the 144
 * MB of an idle server.
 */
async function trimHeap(): Promise<void> {
  if (process.platform !== 'linux') return
  const { default: koffi } = await import('koffi')
  let trim: ReturnType<ReturnType<typeof koffi.load>['func']>
  try {
    trim = koffi.load(null).func('int malloc_trim(size_t)')
  } catch {
    // Another C library has no such function, and keeps less.
    return
  }
  await promisify(trim.async)(0)
}
