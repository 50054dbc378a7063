import { now } from '../../../src/domain/time.ts'
import type { Endpoint } from '../../../src/storage/alerts/endpoints.ts'
import { readEvents } from '../../../src/storage/alerts/events.ts'
import type { AlertRule } from '../../../src/storage/alerts/rules.ts'
import type { Database } from '../../../src/storage/database.ts'
import { wholePart } from '../../support/call-parts.ts'

/** A rule over the calls of an op, as the store accepts it. */
export function alertRule(
  project_id: string,
  id: string,
  op: string,
  fields: Partial<AlertRule> = {},
): AlertRule {
  const time = now()
  return {
    project_id,
    id,
    name: id,
    watches: 'call',
    condition: JSON.stringify({ filter: { op_names: [op] } }),
    severity: 'error',
    cooldown: 0,
    endpoints: null,
    active: 1,
    fired_at: null,
    suppressed: 0,
    firing: 0,
    checked_at: time,
    taken_until: 0,
    created_at: time,
    created_by: 'alice',
    updated_at: time,
    ...fields,
  }
}

/** A call that is news: alerts are for what has just ended. */
export function endedNow(project: string, id: string, op_name: string) {
  const time = now()
  return wholePart(project, id, { op_name, started_at: time - 1_000 }, { ended_at: time })
}

/** An endpoint that takes every event. */
export function alertEndpoint(project_id: string, id: string): Endpoint {
  const time = now()
  return {
    project_id,
    id,
    name: id,
    format: 'standard',
    shown: 'https://example.com/',
    sealed: '',
    types: null,
    active: 1,
    stopped: null,
    runs_as: 'alice',
    failures: 0,
    failing_since: null,
    rests_until: 0,
    taken_at: 0,
    dropped: 0,
    created_at: time,
    created_by: 'alice',
    updated_at: time,
  }
}

/** A rule with a condition of one kind. */
export const addRule = (
  db: Database,
  project: string,
  condition: object,
  fields: Partial<AlertRule> = {},
) => {
  const watches = Object.keys(condition)[0] as AlertRule['watches']
  return db.write(
    'addAlertRule',
    alertRule(project, 'rule', '', { watches, condition: JSON.stringify(condition), ...fields }),
  )
}

/** What the events of a rule say, the oldest first. */
export async function firedIn(db: Database, project: string, rule = 'rule') {
  const view = { rule, endpoint: undefined, type: undefined, state: undefined, before: undefined }
  const events = await readEvents(db, { project, limit: 100, ...view })
  return events.reverse().map(({ body }) => JSON.parse(body).data)
}
