import { StringDecoder } from 'node:string_decoder'
import { refuse } from '../../domain/refusals.ts'

/** Longer than any event of an answer: what goes on beyond it is no stream of events. */
const longestLine = 64 * 1024 * 1024

/**
 * The data of server-sent events (https://html.spec.whatwg.org/multipage/server-sent-events.html), in groups of what has come
 * together. A group without any is a sign of life. Ends at `[DONE]`, or where the stream does.
 */
export async function* dataOf(pieces: AsyncIterable<Buffer>): AsyncGenerator<string[]> {
  const decoder = new StringDecoder('utf8')
  let rest = ''
  let data: string | undefined
  for await (const piece of pieces) {
    const text = rest + decoder.write(piece)
    const group: string[] = []
    let start = 0
    for (;;) {
      const end = text.indexOf('\n', start)
      if (end === -1) break
      const line = text.slice(start, text[end - 1] === '\r' ? end - 1 : end)
      start = end + 1
      if (line === '') {
        if (data !== undefined) group.push(data)
        data = undefined
      } else if (line.startsWith('data:')) {
        const value = line.slice(line[5] === ' ' ? 6 : 5)
        data = data === undefined ? value : `${data}\n${value}`
      }
    }
    rest = text.slice(start)
    if (rest.length > longestLine)
      throw refuse('upstream_failed', { why: 'one event of its stream has no end' })
    const done = group.indexOf('[DONE]')
    yield done === -1 ? group : group.slice(0, done)
    if (done !== -1) return
  }
}
