import { allHolding, type Expression, equalityIn, type Literal } from '../../domain/expressions/expression.ts'
import { isListIndex, splitPath } from '../../domain/expressions/path.ts'
import { type KeyedDocument, keyedDocuments, partialKey, valueKey } from '../../domain/search/values.ts'
import { type Sql, sql } from '../sql/sql.ts'
import { allRows, type BoundReader } from '../transaction.ts'
import { entriesOf } from './entries.ts'
import { isReadThrough, searchState } from './indexing.ts'

type StepsOf = (field: string) => readonly string[]

interface ValueView {
  project: string
  query: Expression | undefined
  /** The document of a field and the path inside of it, if they are not its name. */
  stepsOf?: StepsOf
}

/** With more calls than these, reading them one by one is no faster than the list as it is. */
export const maxCandidates = 2_000
/** Writes that are not indexed yet. */
const maxBacklog = 1_000
const maxAlternatives = 64

/**
 * A condition that leaves only calls that may have the values that a view asks for, by the index. Undefined if there may
 * be many: common values are soon found in the order of the page.
 */
export async function valueCandidates(db: BoundReader, view: ValueView): Promise<Sql | undefined> {
  const keys = keysOf(view)
  if (keys.length === 0) return undefined
  // Read before the index: what is indexed meanwhile is found there.
  const backlog = await unindexed(db, view.project)
  if (backlog === undefined) return undefined
  const entries = entriesOf(db)
  if (await entries.areMore(db, view.project, keys, maxCandidates)) return undefined
  const maxFound = maxCandidates - backlog.length
  const rows = await allRows<{ id: string }>(
    db,
    sql`SELECT id FROM ${entries.withKeys(view.project, keys)} WHERE ${db.dialect.cancellable} LIMIT ${maxFound + 1}`,
  )
  if (rows.length > maxFound) return undefined
  return entries.isAmong([...new Set([...backlog, ...rows.map(({ id }) => id)])])
}

/** Whether a condition of the view is about a value that has a key. */
export const asksForValues = (view: ValueView): boolean => keysOf(view).length > 0

/** Calls whose entries are missing or out of date. Undefined if these are many, or nothing is indexed. */
async function unindexed(db: BoundReader, project: string): Promise<string[] | undefined> {
  const marked = sql`SELECT call_ids FROM search_marks WHERE project_id = ${project}`
  const underived = sql`SELECT ${db.dialect.quoted(sql`call_id`)} AS call_ids FROM underived_calls WHERE project_id = ${project}`
  const rows = await allRows<{ call_ids: string }>(
    db,
    sql`SELECT call_ids FROM (${marked} UNION ALL ${underived}) AS waiting LIMIT ${maxBacklog + 1}`,
  )
  const calls = rows.flatMap(({ call_ids }) => [JSON.parse(call_ids) as string | string[]].flat())
  if (rows.length > maxBacklog || calls.length > maxBacklog) return undefined
  const state = await searchState(db)
  return state?.is_on === 1 && isReadThrough(state, project) ? calls : undefined
}

/** For each condition that must hold, the keys of which a call has one if it holds. */
function keysOf({ project, query, stepsOf = splitPath }: ValueView): string[][] {
  return allHolding(query).flatMap((condition) => {
    const alternatives = condition.op === 'or' ? condition.operands : [condition]
    const keys = alternatives.flatMap((alternative) => {
      const { document, path, texts } = wantedBy(alternative, stepsOf) ?? {}
      if (document === undefined || path === undefined || texts === undefined) return [undefined]
      const own = texts.map((text) => valueKey(project, document, path, text))
      return [...own, partialKey(project, document)]
    })
    const known = keys.filter((key) => key !== undefined)
    return known.length < keys.length || known.length > maxAlternatives ? [] : [[...new Set(known)]]
  })
}

interface Wanted {
  document: KeyedDocument
  path: readonly string[]
  texts: readonly string[]
}

/** The values of which a field must equal one. Undefined if the condition is anything else. */
function wantedBy(condition: Expression, stepsOf: StepsOf): Wanted | undefined {
  const equal = equalityIn(condition)
  if (equal === undefined) return undefined
  const [name, ...path] = stepsOf(equal.field)
  const document = keyedDocuments.find((keyed) => keyed === name)
  // A whole number may be an index into a list, whose items have no keys.
  if (document === undefined || path.some(isListIndex)) return undefined
  const texts = equal.literals.flatMap((literal) => textOf(literal) ?? [])
  return texts.length < equal.literals.length ? undefined : { document, path, texts }
}

/** How a value that equals the literal reads, but for the spelling of numbers. Lists and objects have no keys. */
function textOf({ kind, text }: Literal): string | undefined {
  return (kind === 'text' && !/^[[{]/.test(text)) || kind === 'number' ? text : undefined
}
