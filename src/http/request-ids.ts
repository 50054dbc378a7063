import { randomBytes } from 'node:crypto'
import type { FastifyServerOptions } from 'fastify'

/** Tells the processes apart; the count tells the requests of one apart. */
const process = randomBytes(9).toString('base64url')
let count = 0

/** An id that the caller gave is kept, so that both sides' logs meet; anything odd is replaced, because it goes into logs. */
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
