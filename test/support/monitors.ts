import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import type { TestApp } from './app.ts'
import { completeOf, project } from './calls.ts'
import { until } from './wait.ts'

export const scoreSchema = {
  type: 'object',
  properties: { score: { type: 'number' } },
  required: ['score'],
}

/** Scorers, monitors and their scores, as a client creates and sees them. */
export function monitorsOf({ post }: Pick<TestApp, 'post'>) {
  const ok = async (url: string, body: object) => {
    const answer = await post(url, body)
    assert.equal(answer.status, 200, `${url}: ${answer.text}`)
    return answer.json
  }
  return {
    /** Returns the reference to the scorer. */
    scorer: async (name: string, body: object): Promise<string> =>
      (await ok(`/v2/${project}/scorers`, { name, ...body })).scorer,
    /** Returns the id. */
    monitor: async (scorers: readonly (string | object)[], fields: object = {}): Promise<string> => {
      const bound = scorers.map((one) => (typeof one === 'string' ? { scorer: one } : one))
      return (await ok('/monitors', { project_id: project, name: 'watch', scorers: bound, ...fields }))
        .monitor.id
    },
    /** Writes ended calls; returns their ids. */
    async calls(...given: Record<string, unknown>[]): Promise<string[]> {
      const batch = given.map((fields) => completeOf({ trace_id: randomUUID(), ...fields }))
      await ok(`/v2/${project}/calls/complete`, { batch })
      return batch.map(({ id }) => id)
    },
    /** The scores of a call, by the type of the feedback, once this many scorers are done. */
    async scores(call: string, count: number): Promise<Record<string, unknown>> {
      // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
      let result: any[] = []
      await until(`${count} scores of ${call}`, async () => {
        const query = {
          $expr: {
            $eq: [{ $getField: 'svc_ref' }, { $literal: `weave:///${project}/call/${call}` }],
          },
        }
        result = (await ok('/feedback/query', { project_id: project, query })).result
        return result.length >= count
      })
      assert.equal(result.length, count)
      return Object.fromEntries(
        result.map(({ feedback_type, payload }) => [
          feedback_type.replace('wandb.runnable.', ''),
          payload.output,
        ]),
      )
    },
    /** The calls that judges have made. */
    async judgeCalls() {
      const filter = { op_names: ['heddle.judge'] }
      const { text } = await post('/calls/stream_query', { project_id: project, filter })
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line))
    },
  }
}
