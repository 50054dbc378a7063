import { type EndFacts, endFacts, type StartFacts, startFacts } from '../../domain/call-facts/facts.ts'
import { asText, type SharedText } from '../../domain/json/text.ts'
import { insertInto } from '../sql/inserts.ts'
import type { SqlValue } from '../sql/sql.ts'
import type { Transaction } from '../transaction.ts'
import { factColumns, type LargeColumn, largeColumns, type SentColumns, sentColumns } from './columns.ts'
import { derivation, nextDerivation } from './facts.ts'

/** What a start carries; `attributes` and `inputs` are JSON. */
export type CallStart = SentColumns<'start'> & { user_id: string }

/** What an end carries; it may name the trace. */
export type CallEnd = SentColumns<'end'> & { trace_id?: string | null }

const startNames = sentColumns('start')
const endNames = sentColumns('end')
const startFactNames = factColumns('start')
const endFactNames = factColumns('end')
const startColumns = [...startNames, ...startFactNames]
const endColumns = [...endNames, ...endFactNames]

type WithBytes<T> = { [Key in keyof T]: Key extends LargeColumn ? T[Key] | SharedText : T[Key] }

/**
 * A start, an end, or both. The start and end of a call arrive in any order. Large JSON is bytes that threads share.
 */
export interface CallPart {
  project_id: string
  id: string
  display_name: string | null
  start?: WithBytes<CallStart>
  end?: WithBytes<CallEnd>
}

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
  // A start always names the trace; an end that arrives first may do so too.
  end: partInsert(
    ['trace_id', ...endColumns],
    [endName, firstOf('trace_id'), ...replaced(endColumns), sweptAgain],
  ),
  whole: partInsert(
    [...startColumns, ...endColumns],
    [endName, ...replaced(startColumns), ...replaced(endColumns), movedFrom, sweptAgain],
  ),
}

/** A start or end that is sent again replaces its own part and leaves the other part alone. */
function partInsert(columns: readonly string[], merge: readonly string[]) {
  const all = ['project_id', 'id', 'display_name', 'derivation', ...columns]
  // Converting large bytes to text and back would delay everything that waits for the writer.
  const asText = { columns: largeColumns, write: 'CAST(? AS TEXT)' }
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

/** The facts of whole calls that were written, for what looks at them in the same transaction. */
const factsOfWhole = new WeakMap<CallPart, StartFacts & EndFacts>()

/** Undefined for a start or an end alone. */
export const writtenFacts = (written: CallPart): (StartFacts & EndFacts) | undefined =>
  factsOfWhole.get(written)

function valuesOf(written: CallPart): SqlValue[] {
  const { project_id, id, display_name, start, end } = written
  let started: StartFacts | undefined
  const values: SqlValue[] = [project_id, id, display_name, derivation]
  if (start) {
    for (const column of startNames) values.push(start[column] ?? null)
    const { op_name, inputs, attributes } = start
    const facts = startFacts({ op_name, inputs: asText(inputs), attributes: asText(attributes) })
    for (const column of startFactNames) values.push(facts[column])
    started = facts
  }
  if (end) {
    if (!start) values.push(end.trace_id ?? null)
    for (const column of endNames) values.push(end[column] ?? null)
    const { exception = null, output, summary } = end
    const facts = endFacts({
      exception,
      output: output == null ? null : asText(output),
      summary: asText(summary),
    })
    for (const column of endFactNames) values.push(facts[column])
    if (started !== undefined) factsOfWhole.set(written, { ...started, ...facts })
  }
  return values
}

/** Writes parts of calls of one project. */
export async function mergeIntoCalls(tx: Transaction, callParts: readonly CallPart[]): Promise<void> {
  for (const [kind, list] of Map.groupBy(callParts, kindOf)) {
    for (const statement of statements[kind](list.map(valuesOf))) await tx.run(statement)
  }
}

/** A span, or what a log record says of a call. They arrive in any order and may be sent again; a list has each span once. */
export interface JoinedPart extends CallPart {
  log?: {
    /** The same if the record is sent again. */
    digest: string
    record: string
    /** Nanoseconds. */
    time: string
    /** It belongs to the turn of its conversation that began last before it. */
    findsTurn: boolean
    /** It has messages of its batch; other batches have those before and after them. */
    addsMessages: boolean
    /** It tells of a request to a model: the id of its completion, or nothing of one whose client names none. */
    request?: string
    /** The call is the answer of this server. */
    isOfAnswer?: boolean
  }
}
