import { createYieldToLoop } from '../../../packages/waiting/index.ts'
import { isObject } from '../../domain/call-facts/brief.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { invalidPathReason } from '../../domain/expressions/path.ts'
import { now } from '../../domain/time.ts'
import { largeColumns } from '../../storage/calls/columns.ts'
import { streamDocuments } from '../../storage/views/documents.ts'
import { callsViewOf } from '../calls/query.ts'
import type { Asked } from './calls.ts'
import {
  type ColumnsBody,
  defaultSample,
  type FoundColumn,
  maxColumns,
  type ValueType,
} from './columns-contract.ts'

/** Most levels of nesting: deeper members are seldom columns. */
const deepest = 4
/** Most paths counted; a document whose keys are data has new ones in each call. */
const maxPaths = 2_000
/** Of one object. */
const maxMembers = 100

type Counts = Map<string, Partial<Record<ValueType, number>>>

/** The values that the newest calls of a view have, and their types. */
export async function findColumns({ db, names }: Asked, caller: Caller, body: ColumnsBody) {
  requireAccess(caller, body.project_id)
  const { project_id, filter, query } = body
  const view = await callsViewOf(names, { project_id, filter, query })
  const counts: Counts = new Map()
  const yieldToLoop = createYieldToLoop(db.signal)
  let [calls, leftOut] = [0, 0]
  for await (const rows of streamDocuments(db, view, body.sample ?? defaultSample, now())) {
    for (const row of rows) {
      calls++
      leftOut += row.left_out
      for (const name of largeColumns) {
        const text = row[name]
        if (text !== null) countIn(counts, name, JSON.parse(text), 1)
      }
      const pause = yieldToLoop()
      if (pause) await pause
    }
  }
  const all = [...counts].map(([field, types]): FoundColumn => ({ field, count: sumOf(types), types }))
  all.sort((column, other) => other.count - column.count || (column.field < other.field ? -1 : 1))
  return {
    columns: all.slice(0, maxColumns),
    sampled: calls,
    others: Math.max(0, all.length - maxColumns),
    too_large: leftOut,
  }
}

const sumOf = (types: Partial<Record<ValueType, number>>) =>
  Object.values(types).reduce((sum, count) => sum + count, 0)

function countIn(counts: Counts, field: string, value: unknown, depth: number): void {
  if (depth > 1) note(counts, field, typeOf(value))
  else if (!isObject(value) && value !== null) note(counts, field, typeOf(value))
  if (!isObject(value) || depth > deepest) return
  for (const [name, member] of Object.entries(value).slice(0, maxMembers)) {
    // Fields computed by the server have names of their own, and some names cannot be written as a step.
    if ((field === 'summary' && name === 'weave') || name === '' || name.includes('\\')) continue
    countIn(counts, `${field}.${name.replaceAll('.', '\\.')}`, member, depth + 1)
  }
}

function note(counts: Counts, field: string, type: ValueType): void {
  const known = counts.get(field)
  if (known !== undefined) known[type] = (known[type] ?? 0) + 1
  else if (counts.size < maxPaths && isAskable(field)) counts.set(field, { [type]: 1 })
}

const maxFieldLength = 512

/** Some names cannot be written as a path. */
const isAskable = (field: string) => field.length <= maxFieldLength && invalidPathReason(field) === undefined

function typeOf(value: unknown): ValueType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'list'
  return typeof value as 'string' | 'number' | 'boolean' | 'object'
}
