import type { Server } from 'node:http'
import { releaseStartupMemory } from './startup-memory.ts'

/** After this long without a request. */
const idleMs = 10_000

/**
 * A server that has nothing to do gives back the memory of its last requests. V8 does so by itself only where nothing is
 * allocated, and background work looks for something to do a few times a second.
 */
export function returnIdleMemory(server: Server, failed: (error: unknown) => void): void {
  let timer: NodeJS.Timeout | undefined
  let running = 0
  const rest = () => {
    clearTimeout(timer)
    if (running > 0) return
    timer = setTimeout(() => void releaseStartupMemory().catch(failed), idleMs)
    timer.unref()
  }
  server.on('request', (_request, response) => {
    running += 1
    clearTimeout(timer)
    response.once('close', () => {
      running -= 1
      rest()
    })
  })
  server.once('close', () => clearTimeout(timer))
}
