import type { IncomingMessage } from 'node:http'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import { refuse } from '../domain/refusals.ts'
import { encodingOf } from './compressed-bodies.ts'
import { whenClosed } from './disconnect.ts'

declare module 'fastify' {
  interface FastifyRequest {
    /** Counts more bytes for the body of this request, until the request ends; refuses if there is no room. */
    chargeBody(bytes: number): void
  }
}

/** Memory used for a form while its file is being passed on. */
const formBytes = 1024 * 1024

/** A body with a declared length up to this is not counted: the number of connections bounds how many there are. */
const smallBody = 64 * 1024

/** A tenant may use this many times what is free: three quarters if it is alone, and never all. */
const timesFree = 3

/** The period over which the pace of a body is measured, and the bytes per second below which it is slow. */
const paceMs = 3_000
const slowPace = 16 * 1024

/** A body that is counted. */
interface Counted {
  tenant: string
  bytes: number
  /** Set while it arrives. */
  arriving: IncomingMessage | undefined
  /** When data last arrived. */
  last: number
  /** The start of the current measurement, and the bytes that have arrived since. */
  since: number
  recent: number
  /** Bytes per second in the previous period. */
  pace: number
}

/**
 * All bodies in progress together use at most `budget` bytes. Bytes are counted as they arrive, for the tenant that
 * sent them. A tenant may use a multiple of what is free, so there is always room for one that uses little. When room
 * is short, bodies that arrive slowly are dropped. A single body always passes, whatever size its route allows.
 */
export function limitBodies(app: FastifyInstance, budget: number): void {
  const small = Math.min(smallBody, Math.floor(budget / 8))
  const bodies = new Map<FastifyRequest, Counted>()
  const held = new Map<string, number>()
  let total = 0

  function count(body: Counted, bytes: number): void {
    body.bytes += bytes
    total += bytes
    const own = (held.get(body.tenant) ?? 0) + bytes
    if (own > 0) held.set(body.tenant, own)
    else held.delete(body.tenant)
  }

  function hasRoom(body: Counted, bytes: number): boolean {
    if (total === body.bytes) return true
    const free = budget - total
    return bytes <= free && (held.get(body.tenant) ?? 0) + bytes <= timesFree * free
  }

  function dropSlow(except: Counted): void {
    const now = performance.now()
    for (const [request, body] of bodies) {
      if (body === except || body.arriving === undefined || paceOf(body, now) >= slowPace) continue
      end(request)
      body.arriving.emit('error', refuse('request_too_slow'))
    }
  }

  function charge(body: Counted, bytes: number): boolean {
    if (!hasRoom(body, bytes)) dropSlow(body)
    if (!hasRoom(body, bytes)) return false
    count(body, bytes)
    return true
  }

  /** Counts what arrives. A body that is refused midway looks to its parser like one that could not be read. */
  function watch(request: FastifyRequest, body: Counted): void {
    const { raw } = request
    body.arriving = raw
    const ended = () => {
      body.arriving = undefined
      raw.off('data', take).off('end', ended).off('error', ended)
    }
    const take = (piece: Uint8Array) => {
      // After a refusal the rest is read and discarded.
      if (!bodies.has(request)) return
      const now = performance.now()
      if (now - body.since > paceMs) {
        body.pace = paceOf(body, now)
        body.since = now
        body.recent = 0
      }
      body.last = now
      body.recent += piece.length
      if (!charge(body, piece.length)) raw.emit('error', refuse('queue_full'))
    }
    raw.on('data', take).on('end', ended).on('error', ended)
  }

  function end(request: FastifyRequest): void {
    const body = bodies.get(request)
    if (body === undefined) return
    bodies.delete(request)
    count(body, -body.bytes)
  }

  app.decorateRequest('chargeBody', function (this: FastifyRequest, bytes: number) {
    const body = bodies.get(this)
    if (body !== undefined && !charge(body, bytes)) throw refuse('queue_full')
  })

  // An answer before the end of the body is a refusal, and nothing of the body is in memory any more.
  app.addHook('onSend', (request, _reply, _payload, done) => {
    if (bodies.get(request)?.arriving !== undefined) end(request)
    done()
  })

  app.addHook('preParsing', (request, reply, payload, done) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    if (length === undefined && encoding === undefined) return done(null, payload)
    const isCompressed = encodingOf(request) !== undefined
    const isForm = request.routeOptions.config.form !== undefined
    if (!isForm && !isCompressed && length !== undefined && Number(length) <= small)
      return done(null, payload)
    const tenant = request.caller?.name ?? ''
    const since = performance.now()
    const body: Counted = {
      tenant,
      bytes: 0,
      arriving: undefined,
      last: since,
      since,
      recent: 0,
      pace: slowPace,
    }
    if (isForm && !charge(body, formBytes)) throw refuse('queue_full')
    bodies.set(request, body)
    whenClosed(reply, () => end(request))
    if (!isForm) watch(request, body)
    done(null, payload)
  })
}

function paceOf({ last, since, recent, pace }: Counted, now: number): number {
  if (now - last > paceMs) return 0
  return now - since > paceMs ? (1000 * recent) / (now - since) : pace
}
