import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { refuse } from '../domain/refusals.ts'
import { encodingOf } from './compression.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The parts of a body that is multipart/form-data and is read by its route, as it comes. */
    form?: z.ZodType
  }
}

/** What a form holds while its file passes by. */
const formBytes = 1024 * 1024

/** A body that says that it is no longer than this is not counted: connections bound how many there are. Shorter than a large one. */
const smallBody = 64 * 1024

/**
 * Bodies that are in work at once take no more than this many bytes, by what they say that they will be. One body always
 * passes, however large its route lets it be. `over` hears of each that was counted.
 */
export function limitBodies(
  app: FastifyInstance,
  budget: number,
  over: (request: FastifyRequest) => void,
): void {
  const small = Math.min(smallBody, Math.floor(budget / 8))
  let held = 0
  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    if (length === undefined && encoding === undefined) return done(null, payload)
    const compressed = encodingOf(request) !== undefined
    const { form } = request.routeOptions.config
    if (!form && !compressed && length !== undefined && Number(length) <= small) return done(null, payload)
    // A body that does not say its length, or is compressed, may become as long as the limit.
    const bytes = form
      ? formBytes
      : Number((compressed ? undefined : length) ?? request.routeOptions.bodyLimit)
    if (held + bytes > budget && held > 0) throw refuse('queue_full')
    held += bytes
    const settle = () => {
      held -= bytes
      over(request)
    }
    // Unlike the hook onResponse, this comes also when the client leaves in the middle; and it may have left before.
    if (reply.raw.closed) settle()
    else reply.raw.once('close', settle)
    done(null, payload)
  })
}
