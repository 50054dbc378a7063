import { asText } from '../../domain/json/text.ts'
import { nextDerivation } from '../calls/facts.ts'
import { deriveAgain } from '../calls/underived.ts'
import { asAdded, unwrapped } from '../conversations/items.ts'
import { membershipLock } from '../evaluations/pending.ts'
import { projectLock } from '../projects/projects.ts'
import { markForSearch } from '../search/marks.ts'
import { allOf, join, listOf, rawSql, type Sql, sql } from '../sql/sql.ts'
import { ofPrices } from '../sums/marks.ts'
import type { BoundReader, Command, Reader, Transaction } from '../transaction.ts'
import { addRedactionCounts } from './counts.ts'
import { type HeldPass, movePass } from './passes.ts'
import type { Redacting } from './redaction.ts'
import { type StoredTableName, storedTables } from './stored-tables.ts'
import type { RedactedTexts, RedactionRules } from './texts.ts'

type Texts = Record<string, string | null>

type Key = readonly (string | number)[]

/** The texts of a row, by column. */
interface StoredRow {
  key: Key
  before: Texts
}

/** The columns that are replaced. */
interface RedactedRow extends StoredRow {
  after: Texts
}

/** Rows in memory at a time; each has a whole call. */
const rowsAtOnce = 8
/** Of one transaction, which then takes a few milliseconds. */
const maxRows = 32
const maxCharacters = 256 * 1024

const keyOf = (table: StoredTableName): Sql => rawSql(storedTables[table].key.join(', '))

function columnsOf({ dialect }: Reader, table: StoredTableName): Sql {
  if (table === 'conversation_items') return rawSql('item')
  const { texts, json } = storedTables[table]
  const stored = json.map((column) => sql`${dialect.stored(rawSql(column))} AS ${rawSql(column)}`)
  return join([...texts.map(rawSql), ...stored], ', ')
}

const textsOf = (table: StoredTableName, { item, ...row }: Texts): Texts =>
  table === 'conversation_items' ? { ...asAdded(item ?? '{}') } : row

/** The next rows of the table, in the order of their keys. */
export async function nextRows(
  db: BoundReader,
  project: string,
  table: StoredTableName,
  after: Key | null,
): Promise<StoredRow[]> {
  const { key, ofProject } = storedTables[table]
  const isLater = after === null ? rawSql('1 = 1') : sql`(${keyOf(table)}) > (${join(after, ', ')})`
  const statement = sql`SELECT ${keyOf(table)}, ${columnsOf(db, table)} FROM ${rawSql(table)}
    WHERE ${ofProject(project)} AND ${isLater} AND ${db.dialect.cancellable} ORDER BY ${keyOf(table)} LIMIT ${maxRows}`
  const found: StoredRow[] = []
  let characters = 0
  for await (const rows of db.stream<Record<string, string | null>>(statement, { rows: rowsAtOnce })) {
    for (const row of rows) {
      const own = key.map((column) => row[column] as string)
      const texts = textsOf(
        table,
        Object.fromEntries(Object.entries(row).filter(([name]) => !isKey(key, name))),
      )
      found.push({ key: own, before: texts })
      characters += Object.values(texts).reduce((sum, text) => sum + (text?.length ?? 0), 0)
      if (characters > maxCharacters) return found
    }
  }
  return found
}

const isKey = (key: readonly string[], name: string): boolean => key.includes(name)

interface Redacted {
  rows: readonly RedactedRow[]
  counts: RedactedTexts['counts']
  /** Rows that stay as they are: a text of theirs is damaged, or cannot be read in time. */
  failed: number
}

interface Asked {
  tenant: string
  rules: RedactionRules
  table: StoredTableName
}

/** What is replaced in these rows, and how often each kind. */
export async function redactRows(
  redacting: Redacting,
  asked: Asked,
  rows: readonly StoredRow[],
): Promise<Redacted> {
  const json: readonly string[] = storedTables[asked.table].json
  const targets = rows.flatMap(({ before }, row) =>
    Object.entries(before).flatMap(([column, text]) =>
      text === null ? [] : [{ row, column, text, ...(json.includes(column) && { root: column }) }],
    ),
  )
  const { texts, counts } = await redacting.redact(
    asked.tenant,
    asked.rules,
    targets.map(({ text, root }) => ({ text, ...(root !== undefined && { root }) })),
  )
  if (counts.failed !== undefined) {
    if (rows.length === 1) return { rows: [], counts: {}, failed: 1 }
    const middle = rows.length >> 1
    const first = await redactRows(redacting, asked, rows.slice(0, middle))
    const last = await redactRows(redacting, asked, rows.slice(middle))
    const both = { ...first.counts }
    for (const [kind, count] of Object.entries(last.counts)) both[kind] = (both[kind] ?? 0) + count
    return { rows: [...first.rows, ...last.rows], counts: both, failed: first.failed + last.failed }
  }
  const changed = targets.flatMap(({ row, column, text }, index) => {
    const after = texts[index]
    return after === undefined ? [] : [{ row, column, before: text, after: asText(after) }]
  })
  const byRow = Map.groupBy(changed, ({ row }) => row)
  const redacted = [...byRow].map(([row, columns]) => ({
    key: rows[row]?.key ?? [],
    before: Object.fromEntries(columns.map(({ column, before }) => [column, before])),
    after: Object.fromEntries(columns.map(({ column, after }) => [column, after])),
  }))
  return { rows: redacted, counts, failed: 0 }
}

interface RedactedStep extends HeldPass, Redacted {
  table: StoredTableName
  /** How many were read, and the key of the last one. */
  read: number
  after: Key
  now: number
}

/** Stores what is replaced in some rows, and moves the pass behind them. A text that was written meanwhile stays. */
export const redactStored: Command<RedactedStep, void> = async (tx, step) => {
  const { project, pass, table, rows, now } = step
  await tx.lock(projectLock(project))
  // Shared with everything that writes parts of calls: nothing may change between the read and the write here.
  await tx.lock(membershipLock(project))
  const changed: string[] = []
  for (const row of rows) if (await replace(tx, project, table, row)) changed.push(String(row.key[0]))
  if (table === 'calls' && changed.length > 0)
    await deriveAgain(tx, { project_id: project, calls: changed, now })
  if (table === 'feedback' && changed.length > 0) await noteChanged(tx, project, changed)
  const counts = Object.entries(step.counts).map(([kind, count]) => ({ project_id: project, kind, count }))
  await addRedactionCounts(tx, counts)
  await movePass(tx, project, pass, (present) => ({
    table,
    after: step.after,
    rows: present.rows + step.read,
    changed: present.changed + changed.length,
    failed: present.failed + step.failed,
  }))
}

/** Notes are searched with their calls. */
async function noteChanged(tx: Transaction, project: string, ids: readonly string[]): Promise<void> {
  const notes = await tx.all<{ call_id: string }>(
    sql`SELECT call_id FROM feedback WHERE project_id = ${project} AND id IN (${listOf(ids)}) AND call_id IS NOT NULL`,
  )
  const calls = [...new Set(notes.map(({ call_id }) => call_id))]
  await markForSearch(tx, project, calls)
  tx.changed({ project, kind: 'feedback', ids: calls })
}

async function replace(
  tx: Transaction,
  project: string,
  table: StoredTableName,
  { key, before, after }: RedactedRow,
): Promise<boolean> {
  const isRow = allOf([
    storedTables[table].ofProject(project),
    ...storedTables[table].key.map((column, index) => sql`${rawSql(column)} = ${key[index] as string}`),
  ])
  const row = await tx.get<Texts>(sql`SELECT ${columnsOf(tx, table)} FROM ${rawSql(table)} WHERE ${isRow}`)
  const present = row && textsOf(table, row)
  const own = Object.keys(after).filter((column) => present?.[column] === before[column])
  if (own.length === 0) return false
  const set =
    table === 'conversation_items'
      ? itemOf(after)
      : own.map((column) => sql`${rawSql(column)} = ${after[column] ?? null}`)
  if (table === 'calls') set.push(...derivedOf(own, before, after))
  await tx.run(sql`UPDATE ${rawSql(table)} SET ${join(set, ', ')} WHERE ${isRow}`)
  if (table === 'calls' && own.includes('op_name')) {
    await tx.run(
      sql`UPDATE annotation_queue_items SET call_op_name = ${after.op_name ?? ''} WHERE project_id = ${project} AND call_id = ${key[0] as string}`,
    )
  }
  return true
}

/** Of an item that is private as a whole an empty message stays, so that those behind it keep their places. */
const emptyItem = JSON.stringify({ type: 'message', role: 'user', status: 'completed', content: [] })

const itemOf = ({ inputs = null, output = null }: Texts): Sql[] => [
  sql`item = ${unwrapped({ inputs, output }) ?? emptyItem}`,
]

/** What follows from the texts of a call; the rest is derived again. */
function derivedOf(columns: readonly string[], before: Texts, after: Texts): Sql[] {
  const added = (names: readonly string[]) =>
    columns
      .filter((column) => names.includes(column))
      .reduce(
        (sum, name) => sum + Buffer.byteLength(after[name] ?? '') - Buffer.byteLength(before[name] ?? ''),
        0,
      )
  const set = [
    sql`start_bytes = start_bytes + ${added(['attributes', 'inputs'])}`,
    sql`end_bytes = end_bytes + ${added(['output', 'summary'])}`,
    rawSql(nextDerivation('calls')),
  ]
  if (columns.includes('inputs')) set.push(rawSql('input_preview = NULL'))
  if (columns.includes('output')) set.push(rawSql('output_preview = NULL'))
  if (columns.includes('op_name')) set.push(rawSql("moved_from = coalesce(parent_id, '')"))
  return set
}

/** Whether something is still derived from calls as they were: words of the search, facts, sums and trials. */
export async function isBehind(db: Reader, project: string, read_at: number): Promise<boolean> {
  const marked = (table: string, condition = rawSql('1 = 1')) =>
    sql`EXISTS (SELECT 1 FROM ${rawSql(table)} WHERE project_id = ${project} AND ${condition})`
  const isSearched = rawSql('EXISTS (SELECT 1 FROM search_state WHERE is_on = 1)')
  const behind = join(
    [
      marked('search_marks', isSearched),
      marked('underived_calls'),
      marked('eval_owed'),
      marked('call_sum_marks', sql`at <> ${ofPrices} AND at <= ${read_at}`),
    ],
    ' OR ',
  )
  return (await db.get(sql`SELECT 1 AS one WHERE ${behind}`)) !== undefined
}
