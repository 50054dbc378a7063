import { argument, type Filter, type Given } from './filter.ts'
import { shown } from './printing.ts'
import { scalarFilters } from './scalar-filters.ts'
import { compared, testOf } from './tests.ts'
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
} from './values.ts'

/** A row is filled up to its length. */
const maxInRow = 1_000_000

/** Filters of Jinja2 that the library lacks, entirely or for some values. */
export const filters: Record<string, Filter> = {
  ...scalarFilters,
  join(value, args) {
    const attribute = argument(args, 1, 'attribute')
    const entries = entriesOf(value)?.map((entry) => shown(attribute ? attributeOf(entry, attribute) : entry))
    const separator = argument(args, 0, 'd')
    return entries && text(entries.join(separator ? shown(separator) : ''))
  },
  min: (value) => extreme(value, (order) => order < 0),
  max: (value) => extreme(value, (order) => order > 0),
  sum(value, args) {
    const attribute = argument(args, 0, 'attribute')
    const entries = entriesOf(value)?.map((entry) => (attribute ? attributeOf(entry, attribute) : entry))
    if (entries === undefined) return undefined
    const start = argument(args, 1, 'start')
    if (start && isList(start))
      return list([...start.value, ...entries.flatMap((entry) => entriesOf(entry) ?? [])])
    if (start) entries.push(start)
    const sum = entries.reduce((all, entry) => all + Number(entry.value), 0)
    return entries.some(isFloat) ? float(sum) : number(sum)
  },
  list: (value) => list([...(entriesOf(value) ?? [])]),
  length: (value) => (isText(value) ? number([...value.value].length) : undefined),
  count: (value, args, apply) => apply('length', value, args),
  d: (value, args, apply) => apply('default', value, args),
  default(value, args) {
    const isReplaced = isMissing(value) || (isTrue(argument(args, 1, 'boolean') ?? missing) && !isTrue(value))
    return isReplaced ? (argument(args, 0, 'default_value') ?? text('')) : value
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
  dictsort(value, args) {
    if (!isObject(value)) return undefined
    const at = shown(argument(args, 1, 'by') ?? missing) === 'value' ? 1 : 0
    const isExact = isTrue(argument(args, 0, 'case_sensitive') ?? missing)
    const sorted = pairs(value.value).sort((a, b) => inOrder(a.value[at], b.value[at], isExact))
    return list(isTrue(argument(args, 2, 'reverse') ?? missing) ? sorted.reverse() : sorted)
  },
  sort(value, args) {
    const attribute = argument(args, 2, 'attribute')
    const isExact = isTrue(argument(args, 1, 'case_sensitive') ?? missing)
    const keyOf = (entry: Held) => (attribute ? attributeOf(entry, attribute) : entry)
    const sign = isTrue(argument(args, 0, 'reverse') ?? missing) ? -1 : 1
    return list((entriesOf(value) ?? []).toSorted((a, b) => sign * inOrder(keyOf(a), keyOf(b), isExact)))
  },
  batch(value, args) {
    const entries = entriesOf(value) ?? []
    const size = Math.max(1, Number(argument(args, 0, 'linecount')?.value ?? 1))
    if (size > maxInRow) throw new RangeError('Invalid array length')
    const filler = argument(args, 1, 'fill_with')
    return list(
      Array.from({ length: Math.ceil(entries.length / size) }, (_, at) => {
        const row = entries.slice(at * size, (at + 1) * size)
        return list(filler ? [...row, ...Array<Held>(size - row.length).fill(filler)] : row)
      }),
    )
  },
  items: (value) => (isObject(value) ? list(pairs(value.value)) : undefined),
  map(value, args, apply) {
    const entries = entriesOf(value)
    const attribute = args.named.get('attribute')
    if (entries === undefined) return undefined
    if (attribute) {
      const otherwise = args.named.get('default') ?? missing
      const values = entries.map((entry) => attributeOf(entry, attribute))
      return list(values.map((found) => (isMissing(found) ? otherwise : found)))
    }
    const [name, ...positional] = args.positional
    if (name === undefined) throw new Error('map() needs a filter or an attribute')
    return list(entries.map((entry) => apply(shown(name), entry, { positional, named: args.named })))
  },
  select: (value, args) => selected(value, args, true, (entry) => entry),
  reject: (value, args) => selected(value, args, false, (entry) => entry),
  selectattr: (value, args) => byAttribute(value, args, true),
  rejectattr: (value, args) => byAttribute(value, args, false),
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
  const [left, right] = [folded(a), folded(b)]
  // Python compares no value with none; the library put such values side by side.
  if ((isMissing(left) && isMissing(right)) || (isNone(left) && isNone(right))) return 0
  return compared(left, right)
}

function selected(value: Held, args: Given, wanted: boolean, keyOf: (entry: Held) => Held): Held | undefined {
  const entries = entriesOf(value)
  const [name, other] = args.positional
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
