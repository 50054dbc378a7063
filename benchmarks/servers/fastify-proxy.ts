// What any gateway on Fastify has: callers with keys, and a connection kept to the server behind. It reads and records
// nothing.

import { Agent, type IncomingMessage, request } from 'node:http'
import { plainServer, serve } from './front.ts'

const { hostname, port } = new URL(String(process.env.PROXIED))
const agent = new Agent({ keepAlive: true, noDelay: true })
const app = await plainServer()
app.removeAllContentTypeParsers()
app.addContentTypeParser('*', (_asked, payload, done) => done(null, payload))
app.post<{ Body: IncomingMessage }>(
  '/v1/chat/completions',
  { onRequest: app.basicAuth },
  ({ url: path, headers, body }, reply) => {
    const passedOn = request({ agent, hostname, port, path, method: 'POST', headers }, (told) => {
      reply.code(told.statusCode ?? 502).headers(told.headers as Record<string, string>)
      reply.send(told)
    })
    passedOn.once('error', (error) => reply.raw.destroy(error))
    body.pipe(passedOn)
  },
)
await serve(app)
