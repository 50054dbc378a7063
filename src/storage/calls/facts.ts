import { type EndFacts, endFacts, type StartFacts, startFacts } from '../../domain/call-facts/facts.ts'
import { join, rawSql, sql } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import { type FactColumns, factColumns, type Half, largeColumns, type RecordedColumns } from './columns.ts'

/** What is derived from the parts of a call. */
const factNames = [...factColumns('start'), ...factColumns('end')]

/**
 * The number that every write of a version which derives from calls has to change: triggers mark the calls of a write
 * that leaves it alone (migration underived_calls). A later version that derives more writes other numbers, and lets its
 * triggers mark these.
 */
export const derivation = 3
export const nextDerivation = (table: string) =>
  `derivation = CASE WHEN ${table}.derivation = ${derivation} THEN ${-derivation} ELSE ${derivation} END`

/** Clears inputs, output and the previews made from them. */
export const withoutPayload = rawSql(
  [
    ...[...largeColumns, 'exception', ...factNames].map((column) => `${column} = NULL`),
    nextDerivation('calls'),
  ].join(', '),
)

/** A call with the facts that are stored of it. */
const read = [
  ...(['id', 'op_name', 'started_at', 'ended_at', 'exception', 'attributes', 'inputs', 'output'] as const),
  ...(['summary'] as const),
] as const
export type StoredCall = { [Name in (typeof read)[number]]: RecordedColumns[Name] | null } & {
  id: string
} & FactColumns<Half>

export const storedColumns = rawSql([...read, ...factNames].join(', '))

/** The facts of a call that are not those of its parts. A call that was swept has none. */
export function wrongFacts(call: StoredCall): [column: string, value: string | number | null][] {
  const { op_name, attributes, inputs, ended_at, exception, output, summary } = call
  const start =
    op_name !== null && inputs !== null
      ? whereReadable(() => startFacts({ op_name, inputs, attributes: attributes ?? '{}' }))
      : undefined
  const end =
    ended_at !== null && summary !== null
      ? whereReadable(() => endFacts({ exception, output, summary }))
      : undefined
  const facts: Partial<StartFacts & EndFacts> = { ...start, ...end }
  return factNames.flatMap((name) => {
    const value = facts[name] ?? null
    // One of the engines returns numbers as texts.
    const isSame =
      value === call[name] || (typeof value === 'number' && Number(call[name] ?? Number.NaN) === value)
    // A call that was in the store of cold calls has previews of short texts, too.
    const isPreview =
      value === null && call[name] !== null && name.endsWith('_preview') && call.inputs !== null
    return isSame || isPreview ? [] : [[name, value]]
  })
}

/** Corrects the facts of a call. */
export async function storeFacts(tx: Transaction, project: string, call: StoredCall): Promise<void> {
  const wrong = wrongFacts(call)
  if (wrong.length === 0) return
  const set = wrong.map(([column, value]) => sql`${rawSql(column)} = ${value}`)
  await tx.run(sql`UPDATE calls SET ${join(set, ', ')} WHERE project_id = ${project} AND id = ${call.id}`)
}

/** JSON damaged on disk has no facts; reading the call reports the damage. */
function whereReadable<T>(read: () => T): T | undefined {
  try {
    return read()
  } catch (error) {
    if (error instanceof SyntaxError) return undefined
    throw error
  }
}
