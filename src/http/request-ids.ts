import { randomBytes, randomUUID } from 'node:crypto'
import type { FastifyRequest, FastifyServerOptions } from 'fastify'

/** Distinguishes processes; the counter distinguishes the requests of one process. */
const process = randomBytes(9).toString('base64url')
let count = 0

/**
 * A valid id from the caller is used, so that the logs of both sides can be matched. Anything else is replaced, because
 * ids are written to logs.
 */
export const requestIds = {
  requestIdHeader: false,
  genReqId: (request) => {
    const given = request.headers['x-request-id']
    return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : newRequestId()
  },
} satisfies FastifyServerOptions

export function newRequestId(): string {
  count += 1
  return `${process}-${count.toString(36)}`
}

/**
 * How the id of an answer ends: as its request says. Only a request that says nothing takes the id of its header, which
 * a proxy may have added.
 */
export function answerIdOf(request: FastifyRequest, asked: string | null | undefined): string {
  if (asked != null) return asked
  return request.headers['x-request-id'] === undefined ? randomUUID().replaceAll('-', '') : request.id
}
