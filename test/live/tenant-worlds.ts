import assert from 'node:assert/strict'
import { choiceOf, eventsOf } from '../support/chat.ts'
import { type ChatServer, startChatServer } from '../support/chat-server.ts'
import type { TestScope } from '../support/server.ts'

/** A server on which one tenant has a secret. */
export interface World {
  server: ChatServer
  /** Sends a request with this key; any answer will do. */
  ask(key: string, url: string, body?: object): Promise<Seen>
}

/** What the sender of a request can see of its answer, without names and times that differ by chance. */
interface Seen {
  status: number
  headers: Record<string, string>
  text: string
}

/**
 * Prompts leave memory for the cache only where measured times say that it pays, so the cache has tests of its own; here
 * sequences remember what they have read.
 */
export async function startWorld(t: TestScope, settings: Record<string, string> = {}): Promise<World> {
  const server = await startChatServer(t, {
    model: 'builtin',
    settings: { HEDDLE_PARALLEL: '4', HEDDLE_PROMPT_CACHE: 'off', ...settings },
  })
  return {
    server,
    async ask(key, url, body) {
      const answer = body === undefined ? await server.get(url, key) : await server.post(url, body, { key })
      const isStream = answer.headers.get('content-type')?.startsWith('text/event-stream') === true
      const headers = Object.fromEntries(answer.headers)
      delete headers.date
      // That of the text below, with the digits of its times.
      delete headers['content-length']
      return {
        status: answer.status,
        headers: JSON.parse(withoutChance(JSON.stringify(headers))),
        text: withoutChance(isStream ? joined(await answer.text()) : await answer.text()),
      }
    },
  }
}

/** The text of a stream and its last event with counts: in how many pieces it came is chance. */
function joined(text: string): string {
  const { chunks, error } = eventsOf(text)
  assert.equal(error, undefined)
  return JSON.stringify([choiceOf(chunks, 0), chunks.at(-1)])
}

/** Fields with times and durations, and with the speed of the server. */
const times =
  /"(created|created_at|completed_at|latency|[a-z]+_ms|[a-z]+_seconds|tokens_per_second)":-?\d+(\.\d+)?/g

/** Without random names and times. Names that count, and so are not random, stay. */
export function withoutChance(text: string): string {
  return text
    .replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '<made>')
    .replace(/[\da-f]{32,}/g, '<made>')
    .replace(/hdl1\.[\w-]+/g, '<sealed>')
    .replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>')
    .replace(times, '"$1":"<time>"')
}

/** The cached tokens of an answer, wherever its format has them. */
export function cachedIn({ status, text }: Seen): number {
  assert.equal(status, 200, text)
  const counts = [...text.matchAll(/"(?:cached_tokens|cache_read_input_tokens)":(\d+)/g)]
  assert.ok(counts.length > 0, `an answer counts cached tokens: ${text}`)
  return Math.max(...counts.map(([, count]) => Number(count)))
}
