import { randomUUID } from 'node:crypto'
import type { FastifyRequest, FastifyServerOptions } from 'fastify'

/**
 * A valid id from the caller is used, so that the logs of both sides can be matched. Anything else is replaced, because
 * ids are written to logs.
 */
export const requestIds = {
  requestIdHeader: false,
  genReqId: (request) => {
    const header = request.headers['x-request-id']
    return typeof header === 'string' && /^[\w.:-]{1,128}$/.test(header) ? header : newRequestId()
  },
} satisfies FastifyServerOptions

/** It does not count: two of them would tell a caller how many requests of others came in between. */
export function newRequestId(): string {
  return randomUUID().replaceAll('-', '')
}

/** How the id of an answer ends: as its request says, or as the id of the request, which its header names, too. */
export const answerIdOf = (request: FastifyRequest, asked: string | null | undefined): string =>
  asked ?? request.id
