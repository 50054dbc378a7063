import { once } from 'node:events'
import { Agent, type IncomingMessage, request } from 'node:http'
import type { Contestant } from './contestants.ts'

export type Kind = 'whole' | 'stream'

/** Milliseconds from the request to the first content of its answer, and to the end. */
export interface OneByOne {
  first: number
  end: number
}

export interface Asker {
  ask(kind: Kind): Promise<OneByOne>
  close(): void
}

const capital = { messages: [{ role: 'user', content: 'What is the capital of Mali?' }], temperature: 0 }

/** Sends the same question again and again, on a connection that is kept open. */
export function openAsker(
  { address, headers }: Pick<Contestant, 'address' | 'headers'>,
  question: object = capital,
): Asker {
  const bodies: Record<Kind, string> = {
    whole: JSON.stringify({ ...question, max_tokens: 1 }),
    stream: JSON.stringify({ ...question, max_tokens: 4, stream: true }),
  }
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  return {
    async ask(kind) {
      const since = performance.now()
      const sent = request(`${address}/v1/chat/completions`, { method: 'POST', agent, headers })
      sent.end(bodies[kind])
      const [answer] = (await once(sent, 'response')) as [IncomingMessage]
      let first = Number.NaN
      let text = ''
      answer.setEncoding('utf8').on('data', (piece: string) => {
        text += piece
        // The head of a stream, and its role, are no content yet.
        if (Number.isNaN(first) && (kind === 'whole' || /"content":"[^"]/.test(text)))
          first = performance.now()
      })
      await once(answer, 'end')
      const end = performance.now()
      if (answer.statusCode !== 200 || Number.isNaN(first) || text.includes('"error"'))
        throw new Error(`${address}: ${answer.statusCode} ${text.slice(0, 500)}`)
      return { first: first - since, end: end - since }
    },
    close: () => agent.destroy(),
  }
}
