import { Transform } from 'node:stream'
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

/** A body that says that it is no longer than this is not counted: connections bound how many there are. */
const smallBody = 256 * 1024

/**
 * Bodies that are in work at once take no more than this many bytes. Bytes count as they arrive, so that a claim alone
 * keeps nobody out. One body always passes, however large its route lets it be.
 */
export function limitBodies(
  app: FastifyInstance,
  budget: number,
  over: (request: FastifyRequest) => void,
): void {
  const small = Math.min(smallBody, Math.floor(budget / 8))
  const held = new Map<FastifyRequest, number>()
  let total = 0

  /** Counts bytes that a request holds until its answer is over; refuses when that is too much at once. */
  function charge(request: FastifyRequest, bytes: number): void {
    const own = held.get(request)
    // Not counted, or its answer is over already.
    if (own === undefined) return
    if (total + bytes > budget && total > own) throw refuse('queue_full')
    held.set(request, own + bytes)
    total += bytes
  }

  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    const { form } = request.routeOptions.config
    if (length === undefined && encoding === undefined) return done(null, payload)
    try {
      const compressed = encodingOf(request) !== undefined
      if (!form && !compressed && length !== undefined && Number(length) <= small) return done(null, payload)
      held.set(request, 0)
      const settle = () => {
        total -= held.get(request) ?? 0
        held.delete(request)
        over(request)
      }
      // Unlike the hook onResponse, this comes also when the client leaves in the middle; and it may have left before.
      if (reply.raw.closed) settle()
      else reply.raw.once('close', settle)
      if (!form && !compressed) {
        const count = counted(payload, (bytes) => charge(request, bytes))
        return done(null, count)
      }
      // What is compressed counts as what it may become.
      charge(request, form ? formBytes : request.routeOptions.bodyLimit)
      done(null, payload)
    } catch (error) {
      done(error as Error)
    }
  })
}

function counted(payload: NodeJS.ReadableStream, charge: (bytes: number) => void): Transform {
  const counter = new Transform({
    transform(chunk: Buffer, _encoding, next) {
      try {
        charge(chunk.length)
        next(null, chunk)
      } catch (error) {
        // What is still to come is let run out, so that the client reads its refusal.
        payload.unpipe(counter)
        payload.resume()
        next(error as Error)
      }
    },
  })
  payload.once('error', (error) => counter.destroy(error))
  return payload.pipe(counter)
}
