import { isObject } from '../../domain/call-facts/brief.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { invalidPathReason } from '../../domain/expressions/path.ts'
import { monotonicNow } from '../../domain/time.ts'
import { inSteps } from '../../domain/yielding.ts'
import type { Database } from '../../storage/database.ts'
import { type FeedbackValue, newestPayloads } from '../../storage/views/feedback-sums.ts'
import { defaultSample, type PayloadSchemaBody } from './feedback-contract.ts'
import { feedbackRange } from './feedback-stats.ts'

/** A payload whose keys are data has new paths in each record. */
const maxPaths = 1_000
const maxMembers = 100
const deepest = 8

/** The paths of the values that payloads have, with their types. */
export async function findPayloadPaths(
  db: Database,
  caller: Caller,
  body: PayloadSchemaBody,
  signal: AbortSignal,
) {
  requireAccess(caller, body.project_id)
  const types = new Map<string, FeedbackValue>()
  const range = feedbackRange(body, { start: body.start, end: body.end ?? monotonicNow() })
  for await (const payloads of newestPayloads(db, range, body.sample_limit ?? defaultSample, signal)) {
    await inSteps(payloads, (payload) => note(types, '', JSON.parse(payload), 1))
  }
  const paths = Array.from(types, ([json_path, value_type]) => ({ json_path, value_type }))
  return { paths: paths.sort((a, b) => (a.json_path < b.json_path ? -1 : 1)) }
}

function note(types: Map<string, FeedbackValue>, path: string, value: unknown, depth: number): void {
  if (isObject(value)) {
    if (depth > deepest) return
    for (const [name, member] of Object.entries(value).slice(0, maxMembers)) {
      // Some names cannot be written as a step.
      if (name === '' || name.includes('\\')) continue
      const step = name.replaceAll('.', '\\.')
      note(types, path === '' ? step : `${path}.${step}`, member, depth + 1)
    }
    return
  }
  const type = typeOf(value)
  const known = types.get(path)
  if (type === undefined || known === type) return
  if (known !== undefined) types.set(path, 'categorical')
  else if (types.size < maxPaths && invalidPathReason(path) === undefined) types.set(path, type)
}

function typeOf(value: unknown): FeedbackValue | undefined {
  if (typeof value === 'number') return 'numeric'
  if (typeof value === 'boolean') return 'boolean'
  return typeof value === 'string' ? 'categorical' : undefined
}
