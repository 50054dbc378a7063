import assert from 'node:assert/strict'
import { keys } from '../../support/app.ts'
import { type RunningServer, startServer, type TestScope } from '../../support/server.ts'
import { until } from '../../support/wait.ts'
import type { Sdk } from './sdks.ts'

/** Starts the server as a user would, with the built-in model, and waits until it is ready. */
export async function startReady(t: TestScope, folder: string): Promise<RunningServer> {
  const settings = { HEDDLE_DATA: folder, HEDDLE_MODEL: 'builtin', HEDDLE_DOCS: 'off' }
  const server = await startServer(t, settings)
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  return server
}

// biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
export type Read = any

export const prices = { prompt_token_cost: 1, completion_token_cost: 3 }

/** A separate project, and what a team does in it besides asking. */
export function projectOn(server: RunningServer, project_id: string) {
  const ok = async (path: string, body: object): Promise<Read> => {
    const answer = await server.post(path, body)
    const text = await answer.text()
    assert.equal(answer.status, 200, `${path}: ${text}`)
    return text === '' || path.endsWith('stream_query') ? text : JSON.parse(text)
  }
  const asked = { address: server.address, apiKey: keys.alice }
  return {
    project_id,
    /** Settings of a client whose answers are recorded in this project. */
    client: (headers: Record<string, string> = {}) => ({
      ...asked,
      headers: { 'x-heddle-project': project_id, ...headers },
    }),
    v2: (path: string, body: object = {}) => ok(`/v2/${project_id}/${path}`, body),
    prices: () => ok('/cost/create', { project_id, costs: { 'heddle-tiny': prices } }),
    /** Creates a queue with a rule that adds every answer of the op; returns its id. */
    async queue({ op }: Sdk): Promise<string> {
      const { id } = await ok('/annotation_queues', { project_id, name: 'To read', scorer_refs: [] })
      const rule = { project_id, pick: { kind: 'all' }, filter: { op_names: [op] } }
      await ok(`/annotation_queues/${id}/rules`, rule)
      return id
    },
    async items(queue: string, call_id: string): Promise<Read[]> {
      const body = { project_id, filter: { call_id } }
      return (await ok(`/annotation_queues/${queue}/items/query`, body)).items
    },
    /** Creates a monitor with two checks and a judge for the answers in the thread. */
    async monitor({ text }: Sdk, thread: string): Promise<void> {
      const fields = { answer: 'output' }
      const judge = {
        prompt: 'Is this a good answer?\n{answer}',
        schema: { type: 'object', properties: { good: { type: 'boolean' } }, required: ['good'] },
      }
      const scorers = []
      for (const [name, body] of Object.entries({
        long: { check: { kind: 'length', field: 'answer', min: 20 }, fields },
        cheap: { check: { kind: 'cost', max: 50 } },
        good: { judge, fields },
      })) {
        const { scorer } = await ok(`/v2/${project_id}/scorers`, { name, ...body })
        scorers.push({ scorer, ...(name !== 'cheap' && { fields: { answer: text } }) })
      }
      await ok('/monitors', {
        project_id,
        name: 'every answer',
        scorers,
        filter: { thread_ids: [thread] },
      })
    },
    /** Adds feedback that names the answer by its id. */
    feedback: (id: string, payload: object) =>
      ok('/feedback/create', {
        project_id,
        svc_ref: `weave:///${project_id}/call/${id}`,
        feedback_type: 'review',
        payload,
      }),
    /** Reads the call of an answer. */
    read: async (id: string): Promise<Read> =>
      (await ok('/call/read', { project_id, id, include_costs: true })).call,
    /** Lists calls with their feedback. */
    async calls(filter: object = {}): Promise<Read[]> {
      const text = await ok('/calls/stream_query', { project_id, filter, include_feedback: true })
      return text
        .split('\n')
        .filter(Boolean)
        .map((line: string) => JSON.parse(line))
    },
  }
}

export type Project = ReturnType<typeof projectOn>
