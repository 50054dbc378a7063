import { createHash } from 'node:crypto'
import basicAuth from '@fastify/basic-auth'
import Fastify, { type FastifyInstance } from 'fastify'
import { readConfig } from '../../src/config.ts'

/** What any Fastify server with authenticated callers has, and nothing more: Basic, with the key found by its SHA-256. */
export async function plainServer(): Promise<FastifyInstance> {
  const hash = (text: string) => createHash('sha256').update(text).digest('hex')
  const { users } = readConfig(process.env)
  const callers = new Map(users.map(({ name, key }) => [hash(key), name]))
  const app = Fastify({ bodyLimit: 32 * 1024 * 1024 })
  await app.register(basicAuth, {
    async validate(_name, key) {
      if (!callers.has(hash(key))) throw new Error('unknown key')
    },
  })
  app.get('/health', async () => ({ status: 'ok' }))
  return app
}

export async function serve(app: FastifyInstance, close: () => void = () => {}): Promise<void> {
  const { host, port } = readConfig(process.env)
  await app.listen({ host, port })
  process.once('SIGTERM', async () => {
    await app.close()
    close()
  })
}
