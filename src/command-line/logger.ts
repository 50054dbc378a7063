import { type Logger, pino } from 'pino'
import type { Config } from '../config.ts'

/** JSON lines on stdout. Bodies are never logged; what could be a secret is taken out. */
export function createLogger(config: Config): Logger {
  return pino({
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
  })
}
