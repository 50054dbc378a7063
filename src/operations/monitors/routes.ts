import { jsonLinesOf } from '../../http/contracts.ts'
import { disconnectSignal } from '../../http/disconnect.ts'
import { sendJsonLines } from '../../http/streamed-answers.ts'
import { family, operation } from '../parts.ts'
import {
  CreateBody,
  InProject,
  MonitorAnswer,
  MonitorPath,
  MonitorRecord,
  QueryBody,
  UpdateBody,
} from './contract.ts'
import { createMonitor, deleteOneMonitor, listMonitors, readMonitor, updateMonitor } from './monitors.ts'

const tags = ['monitors']
const notFound = 'monitor_not_found'
const ndjson = 'application/x-ndjson'
const refused = ['invalid_value', 'object_not_found', 'scorer_not_runnable'] as const

export const monitorRoutes = family(
  operation('POST', '/monitors', {
    summary: 'Have the calls of a project judged as they come',
    tags,
    body: CreateBody,
    answer: MonitorAnswer,
    refusals: [...refused],
    rule: ({ db }, { caller, body }) => createMonitor(db, caller, body),
  }),
  operation('POST', '/monitors/query', {
    summary: 'Find monitors, one JSON text a line',
    tags,
    body: QueryBody,
    answer: jsonLinesOf(MonitorRecord, ndjson),
    refusals: ['query_too_slow'],
    rule: ({ db }, { caller, body }, reply) =>
      sendJsonLines(reply, listMonitors(db, caller, body, disconnectSignal(reply)), ndjson),
  }),
  operation('GET', '/monitors/:monitor_id', {
    summary: 'Read a monitor',
    tags,
    params: MonitorPath,
    querystring: InProject,
    answer: MonitorAnswer,
    refusals: [notFound],
    rule: ({ db }, { caller, params, query }) => readMonitor(db, caller, { ...params, ...query }),
  }),
  operation('PUT', '/monitors/:monitor_id', {
    summary: 'Change, pause or resume a monitor',
    tags,
    params: MonitorPath,
    body: UpdateBody,
    answer: MonitorAnswer,
    refusals: [notFound, ...refused],
    rule: ({ db }, { caller, body, params }) => updateMonitor(db, caller, params.monitor_id, body),
  }),
  operation('DELETE', '/monitors/:monitor_id', {
    summary: 'Delete a monitor; what it has said stays',
    tags,
    params: MonitorPath,
    querystring: InProject,
    answer: MonitorAnswer,
    refusals: [notFound],
    rule: ({ db }, { caller, params, query }) => deleteOneMonitor(db, caller, { ...params, ...query }),
  }),
)
