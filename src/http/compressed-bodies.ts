import { promisify } from 'node:util'
import { gunzip, inflate } from 'node:zlib'
import type { FastifyRequest } from 'fastify'
import { refuse } from '../domain/refusals.ts'

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Also accepts bodies in gzip and deflate. */
    compressed?: boolean
  }
}

const open = { gzip: promisify(gunzip), 'x-gzip': promisify(gunzip), deflate: promisify(inflate) }

type Encoding = keyof typeof open

/**
 * How the body is compressed, if it is. A route that does not accept compressed bodies refuses them before they are
 * read.
 */
export function encodingOf(request: FastifyRequest): Encoding | undefined {
  const encoding = request.headers['content-encoding']?.trim().toLowerCase()
  if (encoding === undefined || encoding === '' || encoding === 'identity') return undefined
  const { compressed = false } = request.routeOptions.config
  if (compressed && Object.hasOwn(open, encoding)) return encoding as Encoding
  throw refuse('unsupported_encoding', {
    received: encoding.slice(0, 100),
    accepted: compressed ? 'gzip, deflate, identity' : 'identity',
  })
}

/** The decompressed body; the limit of the route applies to it, however small it was when it arrived. */
export async function uncompressed(request: FastifyRequest, body: Buffer): Promise<Buffer> {
  const encoding = encodingOf(request)
  if (encoding === undefined) return body
  const limit = request.routeOptions.bodyLimit
  // Its length is known only after decompression.
  request.chargeBody(limit)
  try {
    return await open[encoding](body, { maxOutputLength: limit })
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (code === 'ERR_BUFFER_TOO_LARGE') throw refuse('body_too_large', { limit })
    if (code.startsWith('Z_')) throw refuse('malformed_encoding', { encoding, why: message })
    throw error
  }
}
