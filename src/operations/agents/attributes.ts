import { parseLossless } from '../../../packages/json/index.ts'
import { inSteps } from '../../../packages/waiting/index.ts'
import { isObject } from '../../domain/call-facts/brief.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { jsonList } from '../../domain/json/text.ts'
import { now } from '../../domain/time.ts'
import { streamSpanAttributes } from '../../storage/agents/spans.ts'
import type { BoundDatabase } from '../../storage/database.ts'
import { type AttributesBody, defaultAttributes } from './contract.ts'
import { typeOf } from './span-attributes.ts'
import { spansViewOf } from './spans.ts'
import { type AttributeType, attributeSources } from './value-contract.ts'

/** The newest spans, whose attributes are read, and the names that are counted among them. */
const maxSpans = 1_000
const maxNames = 10_000
const maxDepth = 8
/** Of the conventions, or of what this server notes itself. */
const known = new Set(['gen_ai', 'otel_span', 'otel_logs', 'weave', 'heddle'])

/** The attributes of spans that no convention has, for grouping and filtering. */
export async function findAttributes(db: BoundDatabase, caller: Caller, body: AttributesBody) {
  requireAccess(caller, body.project_id)
  const [limit, offset] = [body.limit ?? defaultAttributes, body.offset ?? 0]
  const { project_id, query, started_after, started_before } = body
  const view = spansViewOf({ project_id, query, started_after, started_before, limit: maxSpans })
  const counts = new Map<string, { key: string; value_type: AttributeType; span_count: number }>()
  for await (const rows of streamSpanAttributes(db, view, now())) {
    await inSteps(rows, ({ attributes }) => {
      for (const [key, value_type] of leavesOf(attributes)) {
        const name = `${value_type} ${key}`
        const count = counts.get(name)
        if (count !== undefined) count.span_count++
        else if (counts.size < maxNames) counts.set(name, { key, value_type, span_count: 1 })
      }
    })
  }
  const all = [...counts.values()].sort((a, b) => b.span_count - a.span_count || (a.key < b.key ? -1 : 1))
  const shown = all.slice(offset, offset + limit)
  return {
    attributes: await jsonList(
      shown.map(({ value_type, ...count }) => ({
        source: attributeSources[value_type],
        value_type,
        ...count,
      })),
    ),
    ...{ limit, offset, has_more: all.length > offset + limit },
  }
}

/** The paths of the values in attributes with their types. */
function leavesOf(json: string): Map<string, AttributeType> {
  const leaves = new Map<string, AttributeType>()
  const visit = (value: unknown, path: string, depth: number) => {
    const type = typeOf(value)
    if (type !== undefined) leaves.set(path, type)
    else if (isObject(value) && depth < maxDepth) {
      for (const [name, member] of Object.entries(value)) {
        if ((depth === 0 && known.has(name)) || name === '' || name.includes('\\')) continue
        const step = name.replaceAll('.', '\\.')
        visit(member, path === '' ? step : `${path}.${step}`, depth + 1)
      }
    }
  }
  visit(parseLossless(json), '', 0)
  return leaves
}
