import { membersOf, objectText } from '../../../packages/json/index.ts'
import { batchesOf } from '../../domain/batches.ts'
import { codexUsage, isCodexStep } from '../../domain/call-facts/kind.ts'
import { listOf, rawSql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import { nextDerivation } from './facts.ts'
import type { JoinedPart } from './parts.ts'

/*
 * Codex counts tokens in spans that name no model; one that encloses them does, and may end, and so arrive, much later.
 */

/** The name in the usage of a call whose client names no model. */
const unknown = 'unknown'

const maxAbove = 64
/** Larger attributes are not opened, and longer names are none. */
const maxBytes = { attributes: 64 << 10, name: 400 }

interface Found {
  id: string
  summary: string
  model: string
}

export const tracesOfCodex = (joinedParts: readonly JoinedPart[]): Set<string> =>
  new Set(
    joinedParts.flatMap(({ start, log }) =>
      log === undefined && start && isCodexStep(start.op_name) ? start.trace_id : [],
    ),
  )

/** Called after parts of calls of one project were written: gives the usage of Codex the model of the nearest call above. */
export async function spreadModels(
  tx: Transaction,
  project: string,
  joinedParts: readonly JoinedPart[],
): Promise<void> {
  for (const traces of batchesOf([...tracesOfCodex(joinedParts)], 100)) {
    const ids: string[] = []
    for (const { id, summary, model } of await nearestModels(tx, project, traces)) {
      const members = membersOf(summary)
      const usage = membersOf(members.get('usage') ?? '{}')
      const counts = usage.get(unknown)
      if (counts === undefined || usage.size !== 1) continue
      const known = objectText(members.set('usage', objectText(new Map([[model, counts]]))))
      const added = Buffer.byteLength(known) - Buffer.byteLength(summary)
      await tx.run(
        sql`UPDATE calls SET summary = ${known}, model = ${model}, end_bytes = end_bytes + ${added},
          ${rawSql(nextDerivation('calls'))} WHERE project_id = ${project} AND id = ${id}`,
      )
      ids.push(id)
    }
    if (ids.length > 0) tx.changed({ project, kind: 'call', ids })
  }
}

async function nearestModels(tx: Transaction, project: string, traces: readonly string[]): Promise<Found[]> {
  const { dialect } = tx
  const attributes = rawSql('named.attributes')
  const model = sql`CASE WHEN ${dialect.bytes(attributes)} <= ${maxBytes.attributes} THEN ${dialect.json(attributes, ['model']).text} END`
  const found = await tx.all<Found>(
    sql`WITH RECURSIVE above (call_id, at, distance) AS (
        SELECT id, parent_id, 1 FROM calls WHERE project_id = ${project} AND trace_id IN (${listOf(traces)})
          AND op_name = ${codexUsage} AND model = ${unknown} AND deleted_at IS NULL
        UNION SELECT call_id, parent.parent_id, distance + 1 FROM above CROSS JOIN calls AS parent
          WHERE parent.project_id = ${project} AND parent.id = at AND distance < ${maxAbove})
      SELECT call_id AS id, ${model} AS model, ${dialect.stored(rawSql('calls.summary'))} AS summary FROM above
        CROSS JOIN calls AS named CROSS JOIN calls
        WHERE named.project_id = ${project} AND named.id = at AND named.deleted_at IS NULL
          AND calls.project_id = ${project} AND calls.id = call_id
        ORDER BY distance DESC`,
  )
  const named = found.filter(({ model }) => model && Buffer.byteLength(model) <= maxBytes.name)
  return [...new Map(named.map((call) => [call.id, call])).values()]
}
