import type { Readable } from 'node:stream'
import type { BaseLogger } from 'pino'

export type EngineLogger = Pick<BaseLogger, 'debug' | 'info' | 'warn' | 'error'>

const maxLineLength = 500
const linesInMinute = 200

/** Logs what the native library prints, up to a bounded rate. Returns a function for the last line so far. */
export function logLines(stream: Readable, logger: EngineLogger): () => string {
  let last = ''
  let begun = ''
  let since = performance.now()
  let lines = 0

  function write(line: string): void {
    if (line.trim() === '') return
    last = line.slice(0, maxLineLength)
    if (performance.now() - since > 60_000) {
      if (lines > linesInMinute) {
        logger.warn({ lines: lines - linesInMinute }, 'lines of the engine were dropped')
      }
      since = performance.now()
      lines = 0
    }
    lines++
    if (lines <= linesInMinute) logger.warn({ engine: last }, 'the engine says')
  }

  stream.setEncoding('utf8')
  stream.on('data', (text: string) => {
    const whole = (begun + text).split('\n')
    begun = (whole.pop() ?? '').slice(0, maxLineLength)
    for (const line of whole) write(line)
  })
  return () => last
}
