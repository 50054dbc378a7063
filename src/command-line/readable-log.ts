import { PinoPretty } from 'pino-pretty'

/** Already in the line itself, or of no use to a person reading along. */
const hidden = 'pid,hostname,reqId,user,req,res,responseTime,completion,code,engine'

/** From this level on, lines include the request id, by which their answer can be found. */
const warning = 40

/** `04:19:02 INFO: POST /call/start 200, 9 ms (alice)`, followed by any further fields. */
export function createReadableLog() {
  return PinoPretty({
    sync: true,
    singleLine: true,
    // pino-pretty's own detection treats FORCE_COLOR=0 as a yes.
    colorize: process.stdout.isTTY && process.stdout.hasColors(),
    translateTime: 'SYS:HH:MM:ss',
    ignore: hidden,
    messageFormat: (line) => textOf(line),
  })
}

interface Line {
  level?: number
  msg?: string
  reqId?: string
  user?: string
  req?: { method: string; url: string }
  res?: { statusCode: number }
  responseTime?: number
}

function textOf({ level = 0, msg = '', reqId, user, req, res, responseTime }: Line): string {
  const summary = req === undefined ? msg : `${req.method} ${req.url} ${res?.statusCode ?? `(${msg})`}`
  const time = responseTime === undefined ? '' : `, ${responseTime} ms`
  const whose = [user, level >= warning ? reqId : undefined].filter((entry) => entry !== undefined).join(', ')
  return `${summary}${time}${whose && ` (${whose})`}`
}
