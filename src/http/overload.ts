import underPressure from '@fastify/under-pressure'
import { refuse } from '../domain/refusals.ts'
import type { App } from './contracts.ts'

/** How often the event loop delay is measured, in milliseconds. */
const sampleInterval = 1000

/**
 * Refuses requests while the event loop is late. Delay from the start itself does not count: the first two measurements
 * are ignored.
 */
export async function refuseWhenOverloaded(app: App, maxEventLoopDelay: number): Promise<void> {
  let isStarting = true
  let timer: NodeJS.Timeout | undefined
  app.addHook('onReady', (done) => {
    timer = setTimeout(() => {
      isStarting = false
    }, 2 * sampleInterval)
    done()
  })
  app.addHook('onClose', (_, done) => {
    clearTimeout(timer)
    done()
  })
  await app.register(underPressure, {
    maxEventLoopDelay,
    sampleInterval,
    pressureHandler: async (request) => {
      if (!isStarting && !request.routeOptions.config.public) throw refuse('too_busy')
    },
  })
}
