import type { z } from 'zod'
import type { StatusAnswer } from '../../src/operations/evaluation-runs/contract.ts'
import type { Rescoring, Started } from '../../src/operations/served-runs/contract.ts'
import { refName } from '../value/ref.ts'
import { requestJson, requestLines } from './request.ts'

export type RunStatus = z.output<typeof StatusAnswer>['status']

const pathOf = (project: string) =>
  `/v2/${project.split('/').map(encodeURIComponent).join('/')}/evaluation_runs`

/** Has the server run an evaluation; it continues whatever the page does. The body is JSON. */
export const startRuns = (project: string, json: string): Promise<z.output<typeof Started>> =>
  requestJson(`${pathOf(project)}/serve`, { json })

/** Has the answers of a run scored by these scorers; returns the new run. */
export const rescoreRun = async (
  project: string,
  source_evaluation_run_id: string,
  scorer_refs: readonly string[],
): Promise<string> => {
  const body = { project_id: project, source_evaluation_run_id, scorer_refs }
  return (await requestJson<z.output<typeof Rescoring>>('/evaluations/rescore', { body })).evaluation_run_id
}

export const stopRun = (project: string, run: string): Promise<unknown> =>
  requestJson(`${pathOf(project)}/${encodeURIComponent(run)}/stop`, { body: {} })

/** Has a stopped run go on; rows at which the model failed are asked again. */
export const resumeRun = (project: string, run: string): Promise<unknown> =>
  requestJson(`${pathOf(project)}/${encodeURIComponent(run)}/resume`, { body: {} })

/** What a run is, besides how far it is. */
interface RunFacts {
  name: string | undefined
  /** The server carries it out, and no program of a user. */
  isServed: boolean
  isStopped: boolean
  /** It scores the answers of another run, and asks no model. */
  isRescored: boolean
  /** Of the model that answers. */
  model: string
  /** References to what scores the answers. */
  scorers: readonly string[]
}

interface RootCall {
  id: string
  display_name?: string | null
  attributes?: { heddle?: { served_run?: { scorers?: { scorer: string }[] }; rescored?: object } }
  summary?: { stopped?: boolean }
  inputs?: { model?: unknown }
}

/** By the id of the run. */
export async function readRunFacts(
  project: string,
  runs: readonly string[],
  signal: AbortSignal,
): Promise<ReadonlyMap<string, RunFacts>> {
  const body = {
    ...{ project_id: project, filter: { call_ids: runs } },
    columns: ['id', 'display_name', 'attributes', 'summary', 'inputs'],
  }
  const found = new Map<string, RunFacts>()
  for await (const line of requestLines('/calls/stream_query', { body, signal })) {
    const { id, display_name, attributes, summary, inputs } = JSON.parse(line) as RootCall
    const ofServer = attributes?.heddle?.served_run
    const isServed = ofServer !== undefined
    const isRescored = attributes?.heddle?.rescored !== undefined
    const model = typeof inputs?.model === 'string' ? refName(inputs.model) : ''
    const scorers = (ofServer?.scorers ?? []).map(({ scorer }) => scorer)
    const name = display_name ?? undefined
    found.set(id, { name, isServed, isStopped: summary?.stopped === true, isRescored, model, scorers })
  }
  return found
}

/** How many answers or scores of a run are there, or failed because the model or a judge did. */
export async function countCalls(
  project: string,
  run: string,
  of: 'prediction' | 'score',
  isFailed: boolean,
  signal: AbortSignal,
): Promise<number> {
  const isOfKind = [{ $getField: `attributes.weave.${of}` }, { $literal: 'true' }]
  const hasNoError = { $eq: [{ $getField: 'exception' }, { $literal: null }] }
  const $expr = { $and: [{ $eq: isOfKind }, isFailed ? { $not: [hasNoError] } : hasNoError] }
  const body = { project_id: project, filter: { trace_ids: [run] }, query: { $expr } }
  return (await requestJson<{ count: number }>('/calls/query_stats', { body, signal })).count
}

export const readRunStatus = async (project: string, run: string, signal: AbortSignal): Promise<RunStatus> =>
  (
    await requestJson<{ status: RunStatus }>('/evaluations/status', {
      body: { project_id: project, call_id: run },
      signal,
    })
  ).status
