import { type Logger, type LoggerOptions, pino } from 'pino'
import type { Config } from '../config.ts'

/**
 * Writes lines to stdout: JSON, or readable text for a terminal. Bodies are never logged, and possible secrets are
 * removed.
 */
export async function createLogger({ log_level, log_format }: Config): Promise<Logger> {
  const options: LoggerOptions = {
    level: log_level,
    serializers: { req: shownRequest },
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
  if (log_format === 'json' || (log_format === 'auto' && !process.stdout.isTTY)) return pino(options)
  // Loaded only here: a server whose log is read by a machine neither waits for it nor keeps it in memory.
  const { createReadableLog } = await import('./readable-log.ts')
  return pino(options, createReadableLog())
}

interface LoggedRequest {
  method: string
  url: string
  host?: string
  ip?: string
  socket?: { remotePort?: number }
}

/** Without the query, because people put keys there. */
function shownRequest({ method, url, host, ip, socket }: LoggedRequest) {
  return {
    method,
    url: url.split('?', 1)[0],
    host,
    remoteAddress: ip,
    remotePort: socket?.remotePort,
  }
}
