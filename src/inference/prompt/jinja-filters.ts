import { argument, type Filter, type Given } from './jinja-filter.ts'
import { shown } from './jinja-printing.ts'
import { scalarFilters } from './jinja-scalar-filters.ts'
import { compared, testOf } from './jinja-tests.ts'
import {
  entriesOf,
  float,
  type Held,
  isEqual,
  isFloat,
  isList,
  isMissing,
  isNone,
  isObject,
  isText,
  isTrue,
  keyValue,
  list,
  missing,
  number,
  text,
  tuple,
} from './jinja-values.ts'

/** A row is filled up to its length. */
const maxInRow = 1_000_000

/** Filters of Jinja2 that the library lacks, entirely or for some values. */
export const filters: Record<string, Filter> = {
  ...scalarFilters,
  join(value, given) {
    const attribute = argument(given, 1, 'attribute')
    const entries = entriesOf(value)?.map((entry) => shown(attribute ? attributeOf(entry, attribute) : entry))
    const separator = argument(given, 0, 'd')
    return entries && text(entries.join(separator ? shown(separator) : ''))
  },
  min: (value) => extreme(value, (order) => order < 0),
  max: (value) => extreme(value, (order) => order > 0),
  sum(value, given) {
    const attribute = argument(given, 0, 'attribute')
    const entries = entriesOf(value)?.map((entry) => (attribute ? attributeOf(entry, attribute) : entry))
    if (entries === undefined) return undefined
    const start = argument(given, 1, 'start')
    if (start && isList(start))
      return list([...start.value, ...entries.flatMap((entry) => entriesOf(entry) ?? [])])
    if (start) entries.push(start)
    const sum = entries.reduce((all, entry) => all + Number(entry.value), 0)
    return entries.some(isFloat) ? float(sum) : number(sum)
  },
  list: (value) => list([...(entriesOf(value) ?? [])]),
  length: (value) => (isText(value) ? number([...value.value].length) : undefined),
  count: (value, given, apply) => apply('length', value, given),
  d: (value, given, apply) => apply('default', value, given),
  default(value, given) {
    const isReplaced =
      isMissing(value) || (isTrue(argument(given, 1, 'boolean') ?? missing) && !isTrue(value))
    return isReplaced ? (argument(given, 0, 'default_value') ?? text('')) : value
  },
  first: (value) => entriesOf(value)?.at(0),
  last: (value) => entriesOf(value)?.at(-1),
  reverse(value) {
    const entries = entriesOf(value)?.toReversed()
    return isText(value) ? text((entries ?? []).map(shown).join('')) : entries && list(entries)
  },
  unique(value) {
    const entries = entriesOf(value) ?? []
    const folded = (entry: Held) => (isText(entry) ? text(entry.value.toLowerCase()) : entry)
    return list(
      entries.filter(
        (entry, at) => entries.findIndex((other) => isEqual(folded(other), folded(entry))) === at,
      ),
    )
  },
  dictsort(value, given) {
    if (!isObject(value)) return undefined
    const at = shown(argument(given, 1, 'by') ?? missing) === 'value' ? 1 : 0
    const isExact = isTrue(argument(given, 0, 'case_sensitive') ?? missing)
    const sorted = pairs(value.value).sort((a, b) => inOrder(a.value[at], b.value[at], isExact))
    return list(isTrue(argument(given, 2, 'reverse') ?? missing) ? sorted.reverse() : sorted)
  },
  sort(value, given) {
    const attribute = argument(given, 2, 'attribute')
    const isExact = isTrue(argument(given, 1, 'case_sensitive') ?? missing)
    const keyOf = (entry: Held) => (attribute ? attributeOf(entry, attribute) : entry)
    const sign = isTrue(argument(given, 0, 'reverse') ?? missing) ? -1 : 1
    return list((entriesOf(value) ?? []).toSorted((a, b) => sign * inOrder(keyOf(a), keyOf(b), isExact)))
  },
  batch(value, given) {
    const entries = entriesOf(value) ?? []
    const size = Math.max(1, Number(argument(given, 0, 'linecount')?.value ?? 1))
    if (size > maxInRow) throw new RangeError('Invalid array length')
    const filler = argument(given, 1, 'fill_with')
    return list(
      Array.from({ length: Math.ceil(entries.length / size) }, (_, at) => {
        const row = entries.slice(at * size, (at + 1) * size)
        return list(filler ? [...row, ...Array<Held>(size - row.length).fill(filler)] : row)
      }),
    )
  },
  items: (value) => (isObject(value) ? list(pairs(value.value)) : undefined),
  map(value, given, apply) {
    const entries = entriesOf(value)
    const attribute = given.named.get('attribute')
    if (entries === undefined) return undefined
    if (attribute) {
      const otherwise = given.named.get('default') ?? missing
      const values = entries.map((entry) => attributeOf(entry, attribute))
      return list(values.map((found) => (isMissing(found) ? otherwise : found)))
    }
    const [name, ...positional] = given.positional
    if (name === undefined) throw new Error('map() needs a filter or an attribute')
    return list(entries.map((entry) => apply(shown(name), entry, { positional, named: given.named })))
  },
  select: (value, given) => selected(value, given, true, (entry) => entry),
  reject: (value, given) => selected(value, given, false, (entry) => entry),
  selectattr: (value, given) => byAttribute(value, given, true),
  rejectattr: (value, given) => byAttribute(value, given, false),
}

/** `a.0.b` of a value. */
function attributeOf(entry: Held, attribute: Held): Held {
  return shown(attribute)
    .split('.')
    .reduce<Held>((value, step) => {
      if (isList(value)) return value.value[Number(step)] ?? missing
      return (value.value instanceof Map && (value.value.get(step) as Held | undefined)) || missing
    }, entry)
}

function inOrder(a: Held | undefined, b: Held | undefined, isExact: boolean): number {
  const folded = (value: Held = missing) =>
    isText(value) && !isExact ? text(value.value.toLowerCase()) : value
  const [one, other] = [folded(a), folded(b)]
  // Python compares no value with none; the library put such values side by side.
  if ((isMissing(one) && isMissing(other)) || (isNone(one) && isNone(other))) return 0
  return compared(one, other)
}

function selected(
  value: Held,
  given: Given,
  wanted: boolean,
  keyOf: (entry: Held) => Held,
): Held | undefined {
  const entries = entriesOf(value)
  const [name, other] = given.positional
  const test = name === undefined ? isTrue : testOf(shown(name))
  return entries && list(entries.filter((entry) => test(keyOf(entry), other ?? missing) === wanted))
}

function byAttribute(value: Held, { positional: [attribute, ...rest], named }: Given, wanted: boolean) {
  if (attribute === undefined) throw new Error('selectattr() and rejectattr() need an attribute')
  return selected(value, { positional: rest, named }, wanted, (entry) => attributeOf(entry, attribute))
}

function extreme(value: Held, isBetter: (order: number) => boolean): Held | undefined {
  return entriesOf(value)?.reduce<Held>(
    (best, entry) => (isMissing(best) || isBetter(compared(entry, best)) ? entry : best),
    missing,
  )
}

const pairs = (entries: Iterable<[unknown, Held]>) =>
  [...entries].map(([key, member]) => tuple([keyValue(key), member]) as Held & { value: Held[] })
