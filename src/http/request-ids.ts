import { randomUUID } from 'node:crypto'
import type { FastifyServerOptions } from 'fastify'

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

/** It does not count: two of them would tell a caller how many requests of others came in between. */
export function newRequestId(): string {
  return randomUUID().replaceAll('-', '')
}
