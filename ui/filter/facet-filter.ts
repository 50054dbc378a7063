import {
  type Filter,
  FilterError,
  feedbackWordOf,
  readFilter,
  writeFilter,
} from '../../packages/filter/index.ts'

/** A value of a facet; null stands for calls without one. `json` where the value is inside calls. */
export interface FacetValue {
  field: string
  value: string | null
  isJson: boolean
}

type OfField = Filter & { kind: 'field' }

/** The condition that a value stands for; undefined where the filter bar cannot express it. */
export function conditionOf({ field, value, isJson }: FacetValue): Filter | undefined {
  const is = (text: string, sign: OfField['sign'], isQuoted: boolean): OfField => ({
    ...{ kind: 'field', field, sign, value: text, isQuoted },
  })
  if (value === null)
    return { kind: 'not', of: { kind: 'field', field: 'has', sign: '', value: field, isQuoted: false } }
  if (field === 'feedback') return is(feedbackWordOf(value), '', false)
  if (!isJson) return is(value, field === 'op' ? '=' : '', !/^[\w.:/*-]+$/.test(value))
  if (/^["]/.test(value)) return is(JSON.parse(value) as string, '=', true)
  return /^[[{]/.test(value) ? undefined : is(value, '', false)
}

/** Splits a filter into the conditions on a field and the rest. A filter that cannot be split is all rest. */
function split(filter: Filter, field: string): { own: readonly Filter[]; rest: readonly Filter[] } {
  const all = filter.kind === 'all' ? filter.of : [filter]
  const isOwn = (one: Filter): boolean => {
    if (one.kind === 'any') return one.of.every(isOwn)
    if (one.kind === 'not') return one.of.kind === 'field' && one.of.field === 'has' && one.of.value === field
    return one.kind === 'field' && one.field === field
  }
  const found = all.find(isOwn)
  if (found === undefined) return { own: [], rest: all }
  return { own: found.kind === 'any' ? found.of : [found], rest: all.filter((one) => one !== found) }
}

const same = (one: Filter, other: Filter) =>
  writeFilter(one).replaceAll('"', '') === writeFilter(other).replaceAll('"', '')

function filterIn(text: string): Filter | undefined {
  try {
    return readFilter(text)
  } catch (error) {
    if (error instanceof FilterError) return undefined
    throw error
  }
}

/** Whether the filter selects the value. */
export function isChosen(text: string, value: FacetValue): boolean {
  const [filter, condition] = [filterIn(text), conditionOf(value)]
  if (filter === undefined || condition === undefined) return false
  return split(filter, value.field).own.some((one) => same(one, condition))
}

/** The filter with this value added to the other values of the field, or removed if it was there. */
export function toggleValue(text: string, value: FacetValue): string {
  const [filter, condition] = [filterIn(text), conditionOf(value)]
  if (filter === undefined || condition === undefined) return text
  const { own, rest } = split(filter, value.field)
  const left = own.filter((one) => !same(one, condition))
  const next = left.length < own.length ? left : [...own, condition]
  const of = next.length > 1 ? [{ kind: 'any', of: next } as const] : next
  return writeFilter({ kind: 'all', of: [...rest, ...of] })
}

/** The filter without its conditions on a field, by which the values that could be chosen instead are counted. */
export function withoutField(text: string, field: string): string {
  const filter = filterIn(text)
  if (filter === undefined) return text
  return writeFilter({ kind: 'all', of: split(filter, field).rest })
}
