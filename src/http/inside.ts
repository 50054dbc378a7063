import { randomUUID } from 'node:crypto'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { whenClosed } from './disconnect.ts'

/**
 * Requests that the server makes of itself for a caller. They pass the same hooks, contracts and rules as those of
 * clients, so there is one implementation of access, roles and refusals. The request that caused them has been counted.
 */

/** Its value is known to this process only, and serves once. */
const insideHeader = 'x-heddle-inside'

export interface Inside
  extends Pick<FastifyRequest, 'caller' | 'callerNow'>,
    Partial<Pick<FastifyRequest, 'batched' | 'waiting' | 'namedPrompt'>> {
  /** Ends the request, as a client that disconnects does. */
  signal: AbortSignal
}

declare module 'fastify' {
  interface FastifyRequest {
    /** The line of a batch that is asked by this request. Nobody waits for its answer. */
    batched?: BatchedLine
    /** The response that waits and is answered by this request. Nobody waits for its answer, either. */
    waiting?: AnsweredLater
  }
}

export interface AnsweredLater {
  /** The process that has taken it. */
  holder: string
  /** In seconds. */
  created: number
}

interface BatchedLine {
  batch: string
  custom_id: string
}

const sent = new Map<string, Inside>()
const inside = new WeakSet<FastifyRequest['raw']>()

export interface InsideRequest {
  method: 'GET' | 'POST'
  url: string
  body?: string | undefined
  headers?: Record<string, string> | undefined
}

export interface InsideAnswer {
  status: number
  text: string
  header(name: string): string | undefined
}

export async function askInside(
  app: FastifyInstance,
  asking: Inside,
  { method, url, body, headers: own }: InsideRequest,
): Promise<InsideAnswer> {
  asking.signal.throwIfAborted()
  const id = randomUUID()
  sent.set(id, asking)
  const headers = {
    ...own,
    [insideHeader]: id,
    ...(body !== undefined && { 'content-type': 'application/json' }),
  }
  try {
    const answer = await app.inject({ method, url, headers, ...(body !== undefined && { payload: body }) })
    const header = (name: string) => answer.headers[name]?.toString()
    return { status: answer.statusCode, text: answer.body, header }
  } catch (error) {
    asking.signal.throwIfAborted()
    throw error
  } finally {
    sent.delete(id)
  }
}

/** Whether the server made this request of itself; then it has its caller from here on. */
export function takeInside(request: FastifyRequest, reply: FastifyReply): boolean {
  const id = request.headers[insideHeader]
  const asking = typeof id === 'string' ? sent.get(id) : undefined
  if (asking === undefined) return false
  sent.delete(id as string)
  inside.add(request.raw)
  request.caller = asking.caller
  request.callerNow = asking.callerNow
  const { batched, waiting, namedPrompt } = asking
  Object.assign(request, { ...(batched && { batched }), ...(waiting && { waiting }) })
  if (namedPrompt !== undefined) request.namedPrompt = namedPrompt
  const end = () => reply.raw.destroy()
  asking.signal.addEventListener('abort', end, { once: true })
  whenClosed(reply, () => asking.signal.removeEventListener('abort', end))
  return true
}

/** Lines of a batch are counted one by one. */
export const isCountedAlready = (request: FastifyRequest): boolean =>
  isInside(request) && request.batched === undefined

export const isInside = ({ raw }: FastifyRequest): boolean => inside.has(raw)
