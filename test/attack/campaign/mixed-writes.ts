import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { keys } from '../../support/app.ts'
import { endOf, startOf } from '../../support/calls.ts'
import { fileForm, formType } from '../../support/forms.ts'
import type { RunningServer } from '../../support/server.ts'

/** Reads one acknowledged write back, and fails if it is not what was written. */
type Check = (server: RunningServer) => Promise<void>

/** The possible results of a write while something is broken. */
export type Outcome = 'acknowledged' | 'refused' | 'cut off'

interface Written {
  url: string
  body: unknown
  init?: RequestInit
  check(answer: Record<string, unknown>): Check
}

const tenants = [
  { project_id: 'acme/qa', key: keys.alice },
  { project_id: 'globex/qa', key: keys.bob },
] as const

/** Writes of every kind by two tenants; remembers which were acknowledged. */
export function createMixedWrites(random: () => number) {
  const acknowledged: Check[] = []

  async function write(server: RunningServer): Promise<Outcome> {
    const { project_id, key } = tenants[random() < 0.5 ? 0 : 1]
    const { url, body, init, check } = writeOf(project_id, key, Math.floor(random() * 6), textOf(random))
    let answer: Response
    let json: Record<string, unknown>
    try {
      answer = await server.post(url, body, { key, ...init })
      json = (await answer.json()) as Record<string, unknown>
    } catch {
      return 'cut off'
    }
    assert.ok(
      answer.status === 200 || answer.status === 503,
      `${url}: ${answer.status} ${JSON.stringify(json)}`,
    )
    if (answer.status === 503) {
      assert.equal(typeof json.code, 'string')
      return 'refused'
    }
    acknowledged.push(check(json))
    return 'acknowledged'
  }

  return {
    acknowledged,
    write,
    /** Checks everything acknowledged after the first `known` writes. */
    async assertAllThere(server: RunningServer, known = 0): Promise<void> {
      for (const check of acknowledged.slice(known)) await check(server)
    },
  }
}

const textOf = (random: () => number) => `${randomUUID()} ${'x'.repeat(Math.floor(random() ** 4 * 50_000))}`

function writeOf(project_id: string, key: string, kind: number, text: string): Written {
  const ask = async (server: RunningServer, url: string, body: object): Promise<string> => {
    const answer = await server.post(url, { project_id, ...body }, { key })
    const found = await answer.text()
    assert.equal(answer.status, 200, `${url} after a write that was acknowledged: ${found.slice(0, 300)}`)
    return found
  }
  const holds =
    (url: string, body: object): Check =>
    async (server) => {
      const found = await ask(server, url, body)
      assert.ok(found.includes(text), `${url} has lost what was acknowledged: ${found.slice(0, 300)}`)
    }
  const id = randomUUID()
  switch (kind) {
    case 0: {
      const start = startOf({ id, project_id, inputs: { text } })
      return { url: '/call/start', body: { start }, check: () => holds('/call/read', { id }) }
    }
    case 1: {
      const call = {
        ...startOf({ id, project_id, trace_id: id }),
        ...endOf(id, { project_id, output: text }),
      }
      const url = `/v2/${project_id}/calls/complete`
      return { url, body: { batch: [call] }, check: () => holds('/call/read', { id }) }
    }
    case 2: {
      const svc_ref = `weave:///${project_id}/call/${id}`
      const body = { project_id, svc_ref, feedback_type: 'thumbs', payload: { value: text.slice(0, 500) } }
      const query = { $expr: { $eq: [{ $getField: 'svc_ref' }, { $literal: svc_ref }] } }
      const check: Check = async (server) =>
        assert.ok((await ask(server, '/feedback/query', { query })).includes(text.slice(0, 500)))
      return { url: '/feedback/create', body, check: () => check }
    }
    case 3: {
      const obj = { project_id, object_id: `object${text.charAt(0)}`, val: { text } }
      const check = ({ digest }: Record<string, unknown>) =>
        holds('/obj/read', { object_id: obj.object_id, digest })
      return { url: '/obj/create', body: { obj }, check }
    }
    case 4: {
      const table = { project_id, rows: [{ text }, { n: 1 }] }
      const check = ({ digest }: Record<string, unknown>) => holds('/table/query', { digest })
      return { url: '/table/create', body: { table }, check }
    }
    default: {
      const headers = { authorization: `Bearer ${key}`, 'content-type': formType }
      const init = { headers, body: new Uint8Array(fileForm(project_id, text)) }
      const check = ({ digest }: Record<string, unknown>) => holds('/file/content', { digest })
      return { url: '/file/create', body: '', init, check }
    }
  }
}
