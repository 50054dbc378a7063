import { opOf } from '../../domain/call-facts/facts.ts'
import { allHolding, type Expression, textsIn } from '../../domain/expressions/expression.ts'
import type { CallsFilter } from '../calls/filter.ts'
import { isDeriving } from '../calls/underived.ts'
import type { Reader } from '../transaction.ts'
import { kinds, type SummedField } from './counting.ts'

/** What the conditions of a view have in common with what sums are kept by. */

export interface SummedView {
  project: string
  filters: readonly CallsFilter[]
  query: Expression | undefined
}

export interface Selection {
  kinds: string[]
  only?: { field: SummedField; values: readonly string[] } | undefined
}

/** The fields of queries that mean what sums are kept by. */
export const fieldNames = new Map<string, SummedField>([
  ['op', 'op'],
  ['model', 'model'],
  ['svc_user_id', 'user'],
  ['wb_user_id', 'user'],
  ['summary.weave.status', 'status'],
])

/** Undefined if the conditions of a view are about anything else. */
export function selectionOf({ filters, query }: SummedView): Selection | undefined {
  let selected = kinds
  let only: Selection['only']
  for (const filter of filters) {
    const { ops, ...others } = inFacts(filter)
    if (!isOfRoots(others) || (ops && only)) return undefined
    if (filter.trace_roots_only) selected = selected.filter((kind) => kind.startsWith('root '))
    if (ops) only = { field: 'op', values: ops }
  }
  for (const condition of allHolding(query)) {
    const equal = equalityIn(condition)
    if (equal === undefined) return undefined
    const { values } = equal
    const field = fieldNames.get(equal.field)
    if (equal.field === 'origin') selected = selected.filter(isOfOrigin(values))
    else if (field === undefined || only !== undefined || values.includes('')) return undefined
    else only = { field, values }
  }
  return { kinds: selected, only }
}

const isOfOrigin = (origins: readonly string[]) => (kind: string) =>
  origins.some((origin) => kind.endsWith(` ${origin}`))

/** Of each condition of a query on the origin, the kinds that meet it. Most calls are of the application. */
export const rareKindsIn = (query: Expression | undefined): string[][] =>
  allHolding(query).flatMap((condition) => {
    const { field, values = [] } = equalityIn(condition) ?? {}
    return field === 'origin' && !values.includes('app') ? [kinds.filter(isOfOrigin(values))] : []
  })

const isOfRoots = ({ trace_roots_only, ...others }: CallsFilter) =>
  Object.values(others).every((value) => value === null || value === undefined)

/** As the sums name an op, of which it may be one version; undefined where several of their names begin so. */
export function factOf(name: string): string | undefined {
  const op = name.includes(':///') ? name.indexOf('/op/') : -1
  const isOfVersions = op !== -1 && name.indexOf(':', op) === name.length - 2
  return name.endsWith(':*') && !isOfVersions ? undefined : (opOf(name) ?? undefined)
}

/** With a condition on facts in the place of that on names, if it holds for the same calls. */
function inFacts(filter: CallsFilter): CallsFilter {
  const { op_names, ...others } = filter
  return op_names?.length && op_names.every((name) => factOf(name) === name)
    ? { ...others, ops: op_names }
    : filter
}

const isInFacts = ({ filters }: SummedView) => filters.some((filter) => inFacts(filter).ops !== undefined)

/** Whether calls may lack facts that conditions read in their rows else: an older server writes none. */
export const mayLackFacts = async (db: Reader, view: SummedView): Promise<boolean> =>
  (isInFacts(view) ||
    alternativesIn(view.query)
      .flat()
      .some(({ field }) => field === 'status')) &&
  (await isDeriving(db, view.project))

/** Names are in the rows of calls, facts in the index by time. */
export const viewInFacts = async <View extends SummedView>(db: Reader, view: View): Promise<View> =>
  isInFacts(view) && !(await isDeriving(db, view.project))
    ? { ...view, filters: view.filters.map(inFacts) }
    : view

/** That a field has one of these values. */
function equalityIn(expression: Expression): { field: string; values: string[] } | undefined {
  if (expression.op === 'or') {
    const [first, ...others] = expression.operands.map(equalityIn)
    if (first === undefined || others.some((other) => other?.field !== first.field)) return undefined
    return { ...first, values: [first, ...others].flatMap((each) => each?.values ?? []) }
  }
  return textsIn(expression)
}

/** Conditions of a query that one of some summed fields has one of some values. All must hold, among others. */
export const alternativesIn = (query: Expression | undefined) =>
  allHolding(query).flatMap((condition) => {
    const all = (condition.op === 'or' ? condition.operands : [condition]).map(summedIn)
    const known = all.filter((equality) => equality !== undefined)
    return known.length < all.length ? [] : [known]
  })

function summedIn(condition: Expression): Selection['only'] {
  const { field: name = '', values = [] } = equalityIn(condition) ?? {}
  const field = fieldNames.get(name)
  return field === undefined || values.includes('') ? undefined : { field, values }
}
