import type { FastifyServerOptions } from 'fastify'
import type { Config } from '../config.ts'

/** JSON lines on stdout. Bodies are never logged; what could be a secret is taken out. */
export function logger(config: Config): FastifyServerOptions['logger'] {
  return {
    level: config.log_level,
    redact: {
      paths: [
        'req.headers.authorization',
        'req.headers.cookie',
        'req.headers["proxy-authorization"]',
        'authorization',
        'key',
        'password',
      ],
      censor: '[redacted]',
    },
  }
}
