import type { z } from 'zod'
import type { StatusAnswer } from '../../src/operations/evaluation-runs/contract.ts'
import type { Rescoring, Started } from '../../src/operations/served-runs/contract.ts'
import { objectRefOf } from '../value/ref.ts'
import { requestJson } from './request.ts'

export type RunStatus = z.output<typeof StatusAnswer>['status']

const pathOf = (project: string) =>
  `/v2/${project.split('/').map(encodeURIComponent).join('/')}/evaluation_runs`

/** Has the server run an evaluation; it continues whatever the page does. The body is JSON. */
export const startRuns = (project: string, json: string): Promise<z.output<typeof Started>> =>
  requestJson(`${pathOf(project)}/serve`, { json })

/** Has the answers of a run scored by other scorers, named here; returns the new run. */
export const rescoreRun = async (
  project: string,
  source_evaluation_run_id: string,
  scorers: readonly string[],
): Promise<string> => {
  const scorer_refs = scorers.map((name) => objectRefOf(project, name, 'latest'))
  const body = { project_id: project, source_evaluation_run_id, scorer_refs }
  return (await requestJson<z.output<typeof Rescoring>>('/evaluations/rescore', { body })).evaluation_run_id
}

export const stopRun = (project: string, run: string): Promise<unknown> =>
  requestJson(`${pathOf(project)}/${encodeURIComponent(run)}/stop`, { body: {} })

export const readRunStatus = async (project: string, run: string, signal: AbortSignal): Promise<RunStatus> =>
  (
    await requestJson<{ status: RunStatus }>('/evaluations/status', {
      body: { project_id: project, call_id: run },
      signal,
    })
  ).status
