import type { z } from 'zod'
import type { MonitorRecord, StatsAnswer } from '../../src/operations/monitors/contract.ts'
import { readCalls } from './calls.ts'
import { requestJson, requestLines } from './request.ts'

type Monitor = z.output<typeof MonitorRecord>
export type MonitorStats = z.output<typeof StatsAnswer>['stats'][number]

/** The newest first. */
export async function readMonitors(project: string, signal: AbortSignal): Promise<Monitor[]> {
  const monitors: Monitor[] = []
  const body = { project_id: project, limit: 100 }
  for await (const line of requestLines('/monitors/query', { body, signal })) {
    monitors.push(JSON.parse(line) as Monitor)
  }
  return monitors
}

const pathOf = (monitor: string) => `/monitors/${encodeURIComponent(monitor)}`

export const readMonitor = async (project: string, monitor: string, signal: AbortSignal): Promise<Monitor> =>
  (
    await requestJson<{ monitor: Monitor }>(
      `${pathOf(monitor)}?${new URLSearchParams({ project_id: project })}`,
      { signal },
    )
  ).monitor

/** Of a part of the time, if one is given. */
export const readStats = async (
  project: string,
  monitor_ids: readonly string[],
  signal: AbortSignal,
  time: { after?: string; before?: string } = {},
): Promise<MonitorStats[]> =>
  monitor_ids.length === 0
    ? []
    : (
        await requestJson<{ stats: MonitorStats[] }>('/monitors/stats', {
          body: { project_id: project, monitor_ids, ...time },
          signal,
        })
      ).stats

interface NewMonitor {
  name: string
  scorers: readonly { scorer: string }[]
  query?: object
  sampling_rate: number
  token_budget?: number
}

export const makeMonitor = async (project: string, monitor: NewMonitor): Promise<string> =>
  (await requestJson<{ monitor: Monitor }>('/monitors', { body: { project_id: project, ...monitor } }))
    .monitor.id

export const switchMonitor = (project: string, monitor: string, active: boolean): Promise<unknown> =>
  requestJson(pathOf(monitor), { method: 'PUT', body: { project_id: project, active } })

export const deleteMonitor = (project: string, monitor: string): Promise<unknown> =>
  requestJson(`${pathOf(monitor)}?${new URLSearchParams({ project_id: project })}`, { method: 'DELETE' })

/** Has calls that were there before judged, the oldest first; resolves when they are. */
export async function judgeOldCalls(project: string, monitor: string, limit: number): Promise<void> {
  const at = pathOf(monitor)
  let { run } = await requestJson<MonitorRun>(`${at}/run`, { body: { project_id: project, limit } })
  while (run.ended_at === null) {
    await new Promise((resolve) => setTimeout(resolve, 500))
    run = (
      await requestJson<MonitorRun>(`${at}/runs/${run.id}?${new URLSearchParams({ project_id: project })}`)
    ).run
  }
}

interface MonitorRun {
  run: { id: string; ended_at: string | null }
}

interface JudgedCall {
  call: string
  /** What it was asked. */
  asked: string | null | undefined
  scorer: string
  output: unknown
  at: string
}

/** The scores of a monitor at one path, the worst first. */
export async function readWorstScores(
  project: string,
  monitor: string,
  { scorer, path }: { scorer: string; path: string | null },
  isLowerBetter: boolean,
  signal: AbortSignal,
): Promise<JudgedCall[]> {
  const isOwn = { $eq: [{ $getField: 'payload.monitor' }, { $literal: monitor }] }
  const isOfType = { $eq: [{ $getField: 'feedback_type' }, { $literal: `wandb.runnable.${scorer}` }] }
  const body = {
    project_id: project,
    query: { $expr: { $and: [isOfType, isOwn] } },
    sort_by: [
      {
        field: `payload.output${path === null ? '' : `.${path}`}`,
        direction: isLowerBetter ? 'desc' : 'asc',
      },
    ],
    limit: 20,
  }
  const { result } = await requestJson<{
    result: { weave_ref?: string; svc_ref?: string; payload: { output: unknown }; created_at: string }[]
  }>('/feedback/query', { body, signal })
  const callOf = (row: (typeof result)[number]) =>
    (row.svc_ref ?? row.weave_ref ?? '').split('/call/')[1] ?? ''
  const calls = await readCalls({ project }, result.map(callOf), signal)
  const asked = new Map(calls.map(({ id, input_preview }) => [id, input_preview]))
  return result.map((row) => ({
    call: callOf(row),
    asked: asked.get(callOf(row)),
    scorer,
    output: row.payload.output,
    at: row.created_at,
  }))
}
