import underPressure from '@fastify/under-pressure'
import { refuse } from '../domain/refusals.ts'
import type { App } from './contracts.ts'

/** How often it is measured how late the loop is, in milliseconds. */
const sampleInterval = 1000

/** Refuses while the loop is late. What the start itself took is no reason: two measurements later it is forgotten. */
export async function shedWhenLate(app: App, maxEventLoopDelay: number): Promise<void> {
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
