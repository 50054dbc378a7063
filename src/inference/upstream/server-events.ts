import { StringDecoder } from 'node:string_decoder'
import { refuse } from '../../domain/refusals.ts'

/** In characters; more than any event of an answer has: anything longer is not a stream of events. */
const maxEventLength = 64 * 1024 * 1024

/**
 * Reads the data of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), in groups that
 * arrived together.
 */
interface EventReader {
  read(piece: Buffer): string[]
  /** `[DONE]` has arrived: anything after it is ignored. */
  readonly isDone: boolean
}

export function createEventReader(): EventReader {
  const decoder = new StringDecoder('utf8')
  /**
   * Pieces of an unfinished line. They are joined once: otherwise each piece would have a long line read from its
   * start.
   */
  let rest: string[] = []
  let length = 0
  let data: string | undefined
  let isFirst = true
  /** A line feed after it belongs to the same end of a line. */
  let hasReturned = false
  let isDone = false
  return {
    get isDone() {
      return isDone
    },
    read(piece) {
      let written = decoder.write(piece)
      if (isFirst && written !== '') {
        isFirst = false
        if (written.startsWith('\ufeff')) written = written.slice(1)
      }
      if (hasReturned && written !== '') {
        hasReturned = false
        if (written.startsWith('\n')) written = written.slice(1)
      }
      if (written.includes('\r')) {
        hasReturned = written.endsWith('\r')
        written = written.replaceAll(/\r\n?/g, '\n')
      }
      length += written.length
      if (length + (data?.length ?? 0) > maxEventLength)
        throw refuse('upstream_failed', { why: 'one event of its stream has no end' })
      rest.push(written)
      const group: string[] = []
      if (!written.includes('\n')) return group
      const text = rest.join('')
      let start = 0
      for (;;) {
        const end = text.indexOf('\n', start)
        if (end === -1) break
        const line = text.slice(start, end)
        start = end + 1
        if (line === '') {
          if (data?.trim() === '[DONE]') {
            isDone = true
            return group
          }
          // Without data it is no event.
          if (data) group.push(data)
          data = undefined
        } else if (line.startsWith('data:')) {
          const value = line.slice(line[5] === ' ' ? 6 : 5)
          data = data === undefined ? value : `${data}\n${value}`
        }
      }
      rest = [text.slice(start)]
      length = text.length - start
      return group
    },
  }
}
