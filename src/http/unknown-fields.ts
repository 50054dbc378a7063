import type { FastifyRequest } from 'fastify'
import type { z } from 'zod'

/** What clients send beyond a contract is ignored; this says so, at debug, to whoever looks for it. */
export function noteUnknownFields(contract: z.ZodObject): (request: FastifyRequest) => Promise<void> {
  const known = new Set(Object.keys(contract.shape))
  return async ({ body, log }) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return
    const fields = Object.keys(body).filter((name) => !known.has(name))
    if (fields.length > 0) log.debug({ fields: fields.slice(0, 20) }, 'fields that are ignored')
  }
}
