import assert from 'node:assert/strict'
import { parseWithDigits } from '../../support/digits.ts'
import type { Exchange } from '../../support/recording-proxy.ts'

export type Fields = Record<string, unknown>

export interface SentCall {
  start?: Fields
  end?: Fields
  /** The effective name: that of the end rather than the start, and a rename rather than both. */
  displayName?: string
  renamed?: boolean
}

/** Everything that a client stored, by the names that the server returned. Values keep their digits. */
export interface Sent {
  calls: Map<string, SentCall>
  /** By name and digest, in the order of their creation. */
  objects: Map<string, { object_id: string; digest: string; val: unknown }>
  tables: Map<string, { rows: unknown[]; rowDigests: string[] }>
  files: Map<string, Buffer>
  feedback: Map<string, Fields>
}

/** Everything that the server accepted, even if its answer did not reach the client. */
export async function sentIn(exchanges: readonly Exchange[]): Promise<Sent> {
  const sent: Sent = {
    calls: new Map(),
    objects: new Map(),
    tables: new Map(),
    files: new Map(),
    feedback: new Map(),
  }
  for (const exchange of exchanges) {
    if (exchange.status !== 200) continue
    await gather[exchange.path]?.(exchange, sent)
  }
  return sent
}

const gather: Record<string, (exchange: Exchange, sent: Sent) => void | Promise<void>> = {
  '/call/upsert_batch'(exchange, { calls }) {
    const { batch } = bodyOf(exchange) as { batch: { mode: 'start' | 'end'; req: Record<string, Fields> }[] }
    const { res } = answerOf(exchange) as { res: Fields[] }
    for (const [i, { mode, req }] of batch.entries()) {
      const part = req[mode] as Fields
      addPart(calls, String(part.id ?? res[i]?.id), mode, part)
    }
  },
  '/call/start'(exchange, { calls }) {
    addPart(calls, String(answerOf(exchange).id), 'start', bodyOf(exchange).start as Fields)
  },
  '/call/end'(exchange, { calls }) {
    const end = bodyOf(exchange).end as Fields
    addPart(calls, String(end.id), 'end', end)
  },
  '/call/update'(exchange, { calls }) {
    const { call_id, display_name } = bodyOf(exchange) as { call_id: string; display_name: string }
    Object.assign(callIn(calls, call_id), { displayName: display_name, renamed: true })
  },
  '/obj/create'(exchange, { objects }) {
    const { object_id, val } = bodyOf(exchange).obj as { object_id: string; val: unknown }
    const { digest } = answerOf(exchange) as { digest: string }
    add(objects, `${object_id}:${digest}`, { object_id, digest, val })
  },
  '/table/create'(exchange, { tables }) {
    const { rows } = bodyOf(exchange).table as { rows: unknown[] }
    const { digest, row_digests } = answerOf(exchange) as { digest: string; row_digests: string[] }
    add(tables, digest, { rows, rowDigests: row_digests })
  },
  async '/file/create'(exchange, { files }) {
    const { sent, contentType } = exchange
    const form = await new Response(new Uint8Array(sent), {
      headers: { 'content-type': contentType },
    }).formData()
    const content = Buffer.from(await (form.get('file') as File).arrayBuffer())
    add(files, String(answerOf(exchange).digest), content)
  },
  '/feedback/create': gatherFeedback,
  '/feedback/replace': gatherFeedback,
}

function gatherFeedback(exchange: Exchange, { feedback }: Sent): void {
  feedback.set(String(answerOf(exchange).id), bodyOf(exchange))
}

/** Checks that values with the same digest are the same. */
function add<T>(things: Map<string, T>, digest: string, thing: T): void {
  const known = things.get(digest)
  if (known !== undefined) assert.deepEqual(thing, known, `one digest for two values: ${digest}`)
  things.set(digest, thing)
}

function callIn(calls: Map<string, SentCall>, id: string): SentCall {
  const call = calls.get(id) ?? {}
  calls.set(id, call)
  return call
}

function addPart(calls: Map<string, SentCall>, id: string, mode: 'start' | 'end', part: Fields): void {
  const call = callIn(calls, id)
  const again = call[mode] !== undefined
  call[mode] = part
  const name = part.display_name
  if (typeof name !== 'string' || call.renamed || again) return
  if (mode === 'end' || call.displayName === undefined) call.displayName = name
}

function bodyOf({ sent }: Exchange): Fields {
  return parseWithDigits(sent.toString()) as Fields
}

function answerOf({ received }: Exchange): Fields {
  return parseWithDigits(received.toString()) as Fields
}

/** Every text within a value, at any depth. */
export function* textsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'object' && value !== null) {
    for (const member of Object.values(value)) yield* textsIn(member)
  }
}

/** Every file of a value with a custom type, by the digest that the client computed. */
export function* filesNamedIn(value: unknown): Generator<string> {
  if (typeof value !== 'object' || value === null) return
  const { _type, files } = value as { _type?: unknown; files?: Record<string, string> }
  if (_type === 'CustomWeaveType' && files) yield* Object.values(files)
  else for (const member of Object.values(value)) yield* filesNamedIn(member)
}
