import { objectRefOf } from '../value/ref.ts'
import type { Created } from './objects.ts'
import { requestJson } from './request.ts'

/** Writes an evaluation step by step (docs/evaluation-runs.md). Values are JSON, with their digits. */
export function evaluationsOf(project: string, signal: AbortSignal) {
  const path = `/v2/${project.split('/').map(encodeURIComponent).join('/')}`
  const refOf = ({ object_id, version_index }: Created & { version_index: number }) =>
    objectRefOf(project, object_id, `v${version_index}`)
  const make = async (kind: 'models' | 'scorers' | 'evaluations' | 'datasets', json: string) =>
    refOf(await requestJson(`${path}/${kind}`, { json, signal }))
  return {
    makeDataset: (name: string, rows: readonly string[]) =>
      make('datasets', `{"name":${JSON.stringify(name)},"rows":[${rows.join(',')}]}`),
    /** What answers, and its settings. */
    makeModel: (name: string, attributes: string) =>
      make('models', `{"name":${JSON.stringify(name)},"source_code":"","attributes":${attributes}}`),
    makeScorer: (name: string, description: string, op_source_code: string) =>
      make('scorers', JSON.stringify({ name, description, op_source_code })),
    makeEvaluation: (name: string, dataset: string, scorers: readonly string[]) =>
      make('evaluations', JSON.stringify({ name, dataset, scorers })),
    async begin(evaluation: string, model: string) {
      const body = { evaluation, model }
      const { evaluation_run_id: id } = await requestJson<{ evaluation_run_id: string }>(
        `${path}/evaluation_runs`,
        { body, signal },
      )
      const of = `"evaluation_run_id":${JSON.stringify(id)}`
      return {
        id,
        /** One trial: the inputs, the output, and what each scorer returned. */
        async trial(inputs: string, output: string, scores: ReadonlyMap<string, object>) {
          const { prediction_id } = await requestJson<{ prediction_id: string }>(`${path}/predictions`, {
            json: `{"model":${JSON.stringify(model)},"inputs":${inputs},"output":${output},${of}}`,
            signal,
          })
          for (const [scorer, value] of scores) {
            const score = { evaluation_run_id: id, prediction_id, scorer, value }
            await requestJson(`${path}/scores`, { body: score, signal })
          }
          await requestJson(`${path}/predictions/${prediction_id}/finish`, { body: {}, signal })
        },
        end: () => requestJson(`${path}/evaluation_runs/${id}/finish`, { body: {} }),
      }
    },
  }
}
