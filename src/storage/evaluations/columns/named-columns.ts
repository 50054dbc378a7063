import { conditionOnNumbers } from '../../../domain/evaluations/columns/conditions.ts'
import { columnNames } from '../../../domain/evaluations/columns/gathering.ts'
import { type Expression, fieldsOf } from '../../../domain/expressions/expression.ts'
import type { ResultsView, ShapeSums } from '../evaluation-pages.ts'
import { haveSameRows } from '../row-sets.ts'
import type { EvaluationShape } from '../shapes.ts'
import { columnField, inputColumns, scoreColumns } from './fields.ts'
import type { StoredEvaluation } from './reading.ts'

/** The sums of all trials, from the headers; undefined if the view leaves some out. */
export function wholeSums(
  { evaluations, filters, sumsIntersect }: ResultsView,
  of: readonly StoredEvaluation[],
): ShapeSums[] | undefined {
  const haveAllRows = of.length === evaluations.length && haveSameRows(of)
  if (filters.length > 0 || (sumsIntersect === true && !haveAllRows)) return undefined
  return of.flatMap(({ evaluation_id, header }) =>
    header.shapes.map((totals) => ({ evaluation_id, first_row: header.first, ...totals })),
  )
}

export function inScope<T extends StoredEvaluation>(some: readonly T[], evaluation: string | null): T[] {
  return some.filter(({ evaluation_id }) => evaluation === null || evaluation_id === evaluation)
}

/** For each evaluation, the columns with what the view names; undefined if some of it is in no column. */
export function namesOf(
  view: ResultsView,
  of: readonly StoredEvaluation[],
  shapes: readonly EvaluationShape[],
): Set<string>[] | undefined {
  const names = of.map(() => new Set<string>())
  /** Returns whether the columns contain a field of the evaluations in this scope. */
  function asks(field: string, evaluation: string | null, needsTexts: boolean): boolean {
    const known = columnField(field)
    if (known === undefined) return false
    const scope = inScope(of, evaluation)
    const found =
      known.document === 'scores'
        ? scope.map(({ header }) => scoreColumns(header, known.path, shapes))
        : (inputColumns(scope, known.path[0] as string, needsTexts) ?? [undefined])
    for (const [i, own] of found.entries()) {
      if (own === undefined) return false
      for (const name of own) names[of.indexOf(scope[i] as StoredEvaluation)]?.add(name)
    }
    return true
  }
  const areFiltersKnown = view.filters.every(({ query, evaluation }) => {
    const kind = kindOf(query)
    return kind !== undefined && fieldsOf(query).every((field) => asks(field, evaluation, kind === 'values'))
  })
  const areSortsKnown = view.sort.every(({ field, evaluation, mode }) =>
    asks(field, mode === 'difference' ? null : evaluation, false),
  )
  if (!areFiltersKnown || !areSortsKnown) return undefined
  if (view.sumsIntersect !== null && wholeSums(view, of) === undefined) {
    for (const [i, { header }] of of.entries()) {
      for (let slot = 0; slot < header.slots; slot++) names[i]?.add(columnNames.slot(slot))
    }
  }
  return names
}

/** The members of rows that the view names, with the evaluations whose rows are meant. */
export function inputsOf({ filters, sort }: ResultsView): [string, string | null][] {
  const named = [
    ...filters.flatMap(({ query, evaluation }) => fieldsOf(query).map((field) => ({ field, evaluation }))),
    ...sort,
  ]
  return named
    .filter(({ field }) => columnField(field)?.document === 'inputs')
    .map(({ field, evaluation }) => [field, evaluation])
}

/** What a filter is about; undefined if it involves more than the columns contain. */
export function kindOf(query: Expression): 'scores' | 'numbers' | 'values' | undefined {
  const documents = new Set(fieldsOf(query).map((field) => columnField(field)?.document))
  const [document, ...others] = documents
  if (document === undefined || others.length > 0) return undefined
  const none = new Float64Array()
  const readsNumbers = (countTruths: boolean) =>
    conditionOnNumbers(query, { of: () => none, countTruths }) !== undefined
  if (document === 'scores') return readsNumbers(true) ? 'scores' : undefined
  return readsNumbers(false) ? 'numbers' : 'values'
}
