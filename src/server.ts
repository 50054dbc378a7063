import type { FastifyBaseLogger } from 'fastify'
import { buildApp } from './app.ts'
import type { Config } from './config.ts'
import type { Database } from './storage/database.ts'

export interface Server {
  /** Where it listens, for instance http://127.0.0.1:8080. */
  address: string
  /** Stops accepting, lets running requests finish for a while, cuts the rest off, and closes the record. */
  stop(): Promise<void>
}

/** Opens the port. The server owns the record from here on. */
export async function startServer(
  config: Config,
  database: Database,
  logger: FastifyBaseLogger,
): Promise<Server> {
  try {
    const app = await buildApp(config, { database, logger })
    const address = await app.listen({
      host: config.host,
      port: config.port,
      listenTextResolver: (bound) => `bound to ${bound}`,
    })
    app.log.info({ address }, 'listening')
    return {
      address,
      async stop() {
        const cut = setTimeout(() => app.server.closeAllConnections(), config.grace)
        // A kept connection whose request was under way is idle after its answer, and nobody else would close it.
        const leave = setInterval(() => app.server.closeIdleConnections(), 50)
        try {
          await app.close()
        } finally {
          clearTimeout(cut)
          clearInterval(leave)
          await database.close()
        }
      },
    }
  } catch (error) {
    await database.close()
    throw error
  }
}
