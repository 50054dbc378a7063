import { endFactNames, endFacts, startFactNames, startFacts } from '../../domain/call-facts/facts.ts'
import { asText, type SharedText } from '../../domain/json/text.ts'
import { type Columns, namesOf, type RowOf } from '../sql/columns.ts'
import { insertInto } from '../sql/inserts.ts'
import type { SqlValue } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import { derivation, nextDerivation } from './facts.ts'

const startKinds = {
  trace_id: 'text',
  parent_id: 'text?',
  thread_id: 'text?',
  turn_id: 'text?',
  op_name: 'text',
  started_at: 'time',
  user_id: 'text',
  run_id: 'text?',
  run_step: 'number?',
  expire_at: 'time?',
  start_bytes: 'number',
  attributes: 'text',
  inputs: 'text',
} as const satisfies Columns

const endKinds = {
  trace_id: 'text?',
  ended_at: 'time',
  exception: 'text?',
  run_step_end: 'number?',
  end_bytes: 'number',
  output: 'text?',
  summary: 'text',
} as const satisfies Columns

/** What a start carries; `attributes` and `inputs` are JSON. */
export type CallStart = RowOf<typeof startKinds>

/** What an end carries; `output` and `summary` are JSON. */
export type CallEnd = RowOf<typeof endKinds>

const startNames = namesOf(startKinds)
const endNames = namesOf(endKinds)
const startColumns = [...startNames, ...startFactNames]
const endColumns = [...endNames, ...endFactNames]

type WithBytes<T, Kept extends keyof T> = {
  [Key in keyof T]: Key extends Kept ? T[Key] | SharedText : T[Key]
}

const carried = ['attributes', 'inputs', 'output', 'summary'] as const

/**
 * A start, an end, or both. The start and end of a call arrive in any order. Large JSON is bytes that threads share.
 */
export interface CallPart {
  project_id: string
  id: string
  display_name: string | null
  start?: WithBytes<CallStart, 'attributes' | 'inputs'>
  end?: WithBytes<CallEnd, 'output' | 'summary'>
}

/** A start always names the trace; an end that arrives first may do so too. */
const endOnlyColumns = endColumns.slice(1)

const replaced = (columns: readonly string[]) =>
  columns.map((column) => (column === 'user_id' ? firstOf(column) : `${column} = excluded.${column}`))
const firstOf = (column: string) => `${column} = coalesce(calls.${column}, excluded.${column})`

/** The end carries the final name of the call, so it wins over the name in the start. */
const endName = 'display_name = coalesce(excluded.display_name, calls.display_name)'

// A late part may write a swept row again: the call stays deleted and is swept once more.
const sweptAgain = 'swept_at = NULL'

/** The former parent of a call whose op or parent has changed, so that what is derived from calls can be updated. */
const movedFrom = `moved_from = CASE WHEN calls.started_at IS NOT NULL
  AND (calls.parent_id IS DISTINCT FROM excluded.parent_id OR calls.op_name IS DISTINCT FROM excluded.op_name)
  THEN coalesce(calls.parent_id, '') ELSE calls.moved_from END`

const statements = {
  start: partInsert(startColumns, [
    firstOf('display_name'),
    ...replaced(startColumns),
    movedFrom,
    sweptAgain,
  ]),
  end: partInsert(endColumns, [endName, firstOf('trace_id'), ...replaced(endOnlyColumns), sweptAgain]),
  whole: partInsert(
    [...startColumns, ...endOnlyColumns],
    [endName, ...replaced(startColumns), ...replaced(endOnlyColumns), movedFrom, sweptAgain],
  ),
}

/** A start or end that is sent again replaces its own part and leaves the other part alone. */
function partInsert(columns: readonly string[], merge: readonly string[]) {
  const all = ['project_id', 'id', 'display_name', 'derivation', ...columns]
  // Converting large bytes to text and back would delay everything that waits for the writer.
  const asText = { columns: carried, write: 'CAST(? AS TEXT)' }
  return insertInto(
    'calls',
    all,
    `ON CONFLICT (project_id, id) DO UPDATE SET ${[...merge, nextDerivation('calls')].join(', ')}`,
    {
      written: asText,
    },
  )
}

function kindOf({ start, end }: CallPart): keyof typeof statements {
  if (start) return end ? 'whole' : 'start'
  return 'end'
}

function valuesOf({ project_id, id, display_name, start, end }: CallPart): SqlValue[] {
  const values: SqlValue[] = [project_id, id, display_name, derivation]
  if (start) {
    for (const column of startNames) values.push(start[column])
    const facts = startFacts({ op_name: start.op_name, inputs: asText(start.inputs) })
    for (const column of startFactNames) values.push(facts[column])
  }
  if (end) {
    for (const column of endNames) if (!start || column !== 'trace_id') values.push(end[column])
    const { exception, output, summary } = end
    const facts = endFacts({
      exception,
      output: output === null ? null : asText(output),
      summary: asText(summary),
    })
    for (const column of endFactNames) values.push(facts[column])
  }
  return values
}

/** Writes parts of calls of one project. */
export async function mergeIntoCalls(tx: Transaction, parts: readonly CallPart[]): Promise<void> {
  for (const [kind, list] of Map.groupBy(parts, kindOf)) {
    for (const statement of statements[kind](list.map(valuesOf))) await tx.run(statement)
  }
}
