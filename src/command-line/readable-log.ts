import { styleText } from 'node:util'
import { type DestinationStream, destination } from 'pino'

const levels = {
  10: { name: 'TRACE', color: 'gray' },
  20: { name: 'DEBUG', color: 'blue' },
  30: { name: 'INFO', color: 'green' },
  40: { name: 'WARN', color: 'yellow' },
  50: { name: 'ERROR', color: 'red' },
  60: { name: 'FATAL', color: 'bgRed' },
} as const

/** From this level on, lines include the request id, by which their answer can be found. */
const warning = 40

interface Line {
  level: keyof typeof levels
  time: number
  msg?: string
  reqId?: string
  user?: string
  req?: { method: string; url: string }
  res?: { statusCode: number }
  responseTime?: number
  err?: { message: string; stack?: string }
}

/** Lines of the log for a terminal. */
export function createReadableLog(): DestinationStream {
  const stdout = destination({ dest: 1, sync: true })
  const hasColors = process.stdout.isTTY && process.stdout.hasColors()
  return { write: (line) => stdout.write(readableLine(line, hasColors)) }
}

/** `[04:19:02] INFO: POST /call/start 200, 9 ms (alice)`, followed by any further fields and the stack of an error. */
export function readableLine(json: string, hasColors: boolean): string {
  const line = JSON.parse(json) as Line
  const { name, color } = levels[line.level]
  const time = new Date(line.time).toTimeString().slice(0, 8)
  const level = hasColors ? styleText(color, name, { validateStream: false }) : name
  const { stack = '', message, ...fields } = line.err ?? {}
  const text = [
    `[${time}] ${level}: ${visible(textOf(line))}`,
    ...further({ ...furtherOf(line), ...fields }),
  ].join(' ')
  return `${text}${visible(stack && `\n${stack}`)}\n`
}

function textOf({ level, msg = '', reqId, user, req, res, responseTime }: Line): string {
  const summary = req === undefined ? msg : `${req.method} ${req.url} ${res?.statusCode ?? `(${msg})`}`
  const time = responseTime === undefined ? '' : `, ${responseTime} ms`
  const whose = [user, level >= warning ? reqId : undefined].filter((entry) => entry !== undefined).join(', ')
  return `${summary}${time}${whose && ` (${whose})`}`
}

/** What is neither in the line itself nor of no use to a person reading along. */
function furtherOf({ level, time, msg, reqId, user, req, res, responseTime, err, ...rest }: Line): object {
  const { pid, hostname, completion, code, engine, ...fields } = rest as Record<string, unknown>
  return fields
}

const further = (fields: object): string[] =>
  Object.keys(fields).length === 0 ? [] : [visible(JSON.stringify(fields))]

/** Texts of clients and other servers do not control the terminal, and do not look like lines of their own. */
const visible = (text: string): string =>
  text
    .replaceAll(/(?!\n)\p{Cc}/gu, (sign) => `\\x${sign.charCodeAt(0).toString(16).padStart(2, '0')}`)
    .replaceAll('\n', '\n    ')
