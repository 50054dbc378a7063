import { jsonLinesOf } from '../../http/contracts.ts'
import { sendJsonLines } from '../../http/streams/streamed-answers.ts'
import { NamedQuery } from '../paging-contract.ts'
import { family, operationsUnder } from '../parts.ts'
import {
  CancelBody,
  CreateBody,
  InProject,
  MonitorAnswer,
  MonitorPath,
  MonitorRecord,
  RunAnswer,
  RunBody,
  RunPath,
  RunsAnswer,
  StatsAnswer,
  StatsBody,
  UpdateBody,
} from './contract.ts'
import { createMonitor, deleteOneMonitor, listMonitors, readMonitor, updateMonitor } from './monitors.ts'
import { cancelRun, listRuns, readRun, startRun } from './runs.ts'
import { monitorStats } from './stats.ts'

const operation = operationsUnder('monitors')
const notFound = 'monitor_not_found'
const ndjson = 'application/x-ndjson'
const refused = ['scope_forbidden', 'invalid_value', 'object_not_found', 'scorer_not_runnable'] as const

export const monitorRoutes = family(
  operation('POST', '/monitors', {
    right: 'write',
    summary: 'Create a monitor that scores the calls of a project as they arrive',
    body: CreateBody,
    answer: MonitorAnswer,
    refusals: [...refused],
    rule: ({ db }, { caller, body }) => createMonitor(db, caller, body),
  }),
  operation('POST', '/monitors/query', {
    right: 'read',
    summary: 'Find monitors, as JSON Lines',
    body: NamedQuery,
    answer: jsonLinesOf(MonitorRecord, ndjson),
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, body }, reply) => sendJsonLines(reply, listMonitors(db, caller, body), ndjson),
  }),
  operation('POST', '/monitors/stats', {
    right: 'read',
    summary: 'Read counts of judgements and statistics of scores of monitors',
    body: StatsBody,
    answer: StatsAnswer,
    refusals: ['too_many_ids', 'query_too_slow'],
    rule: (services, { caller, body }) => monitorStats(services, caller, body),
  }),
  operation('GET', '/monitors/:monitor_id', {
    right: 'read',
    summary: 'Read a monitor',
    params: MonitorPath,
    querystring: InProject,
    answer: MonitorAnswer,
    refusals: [notFound],
    rule: ({ db }, { caller, params, query }) => readMonitor(db, caller, { ...params, ...query }),
  }),
  operation('PUT', '/monitors/:monitor_id', {
    right: 'write',
    summary: 'Change, pause or resume a monitor',
    params: MonitorPath,
    body: UpdateBody,
    answer: MonitorAnswer,
    refusals: [notFound, ...refused],
    rule: ({ db }, { caller, body, params }) => updateMonitor(db, caller, params.monitor_id, body),
  }),
  operation('DELETE', '/monitors/:monitor_id', {
    right: 'write',
    summary: 'Delete a monitor; its feedback is kept',
    params: MonitorPath,
    querystring: InProject,
    answer: MonitorAnswer,
    refusals: [notFound],
    rule: ({ db }, { caller, params, query }) => deleteOneMonitor(db, caller, { ...params, ...query }),
  }),
  operation('POST', '/monitors/:monitor_id/run', {
    right: 'write',
    summary: 'Run a monitor over old calls',
    params: MonitorPath,
    body: RunBody,
    answer: RunAnswer,
    refusals: ['scope_forbidden', notFound, 'monitor_run_going', 'invalid_value'],
    rule: ({ db }, { caller, body, params }) => startRun(db, caller, params.monitor_id, body),
  }),
  operation('GET', '/monitors/:monitor_id/runs', {
    right: 'read',
    summary: 'List the runs of a monitor over old calls',
    params: MonitorPath,
    querystring: InProject,
    answer: RunsAnswer,
    refusals: [notFound],
    rule: ({ db }, { caller, params, query }) => listRuns(db, caller, { ...params, ...query }),
  }),
  operation('GET', '/monitors/:monitor_id/runs/:run_id', {
    right: 'read',
    summary: 'Read the progress of a run over old calls',
    params: RunPath,
    querystring: InProject,
    answer: RunAnswer,
    refusals: [notFound, 'monitor_run_not_found'],
    rule: ({ db }, { caller, params, query }) => readRun(db, caller, { ...params, ...query }),
  }),
  operation('POST', '/monitors/:monitor_id/runs/:run_id/cancel', {
    right: 'write',
    summary: 'Cancel a run over old calls; its judgements are kept',
    params: RunPath,
    body: CancelBody,
    answer: RunAnswer,
    refusals: [notFound, 'monitor_run_not_found'],
    rule: ({ db }, { caller, body, params }) => cancelRun(db, caller, { ...params, ...body }),
  }),
)
