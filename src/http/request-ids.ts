import type { FastifyServerOptions } from 'fastify'
import { newId } from '../domain/ids.ts'

/** An id that the caller gave is kept, so that both sides' logs meet; anything odd is replaced, because it goes into logs. */
export const requestIds = {
  requestIdHeader: false,
  genReqId: (request) => {
    const given = request.headers['x-request-id']
    return typeof given === 'string' && /^[\w.:-]{1,128}$/.test(given) ? given : newId()
  },
} satisfies FastifyServerOptions
