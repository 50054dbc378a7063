import { stripped } from './jinja-methods.ts'
import {
  converted,
  entriesOf,
  type Held,
  isList,
  isMissing,
  isNone,
  isNumber,
  isObject,
  isText,
  keyValue,
  list,
  missing,
  number,
  object,
  shown,
  text,
} from './jinja-values.ts'

/** The arguments of a filter. */
interface Given {
  positional: Held[]
  named: Map<string, Held>
}

/** Returns undefined where the library's own filter is to be used. */
type Filter = (value: Held, given: Given) => Held | undefined

/** Filters of Jinja2 that templates use and the library lacks, entirely or for some values. */
export const filters: Record<string, Filter> = {
  string: (value) => (isList(value) || isObject(value) || isNone(value) ? text(shown(value)) : undefined),
  from_json: (value) => (isText(value) ? converted(JSON.parse(value.value)) : undefined),
  min: (value) => extreme(value, (a, b) => a < b),
  max: (value) => extreme(value, (a, b) => a > b),
  sum: (value) =>
    isList(value)
      ? number(value.value.reduce((sum, entry) => sum + (isNumber(entry) ? entry.value : 0), 0))
      : undefined,
  list: (value) => (isList(value) ? undefined : list(entriesOf(value) ?? [])),
  dictsort: sortedByNumber,
  items: (value) => (isObject(value) ? list(pairs(value.value)) : undefined),
  map(value, { positional: [name] }) {
    if (!isList(value) || name === undefined || !isText(name)) return undefined
    const apply = byText[name.value]
    if (apply === undefined) throw new Error(`map() cannot apply the filter ${name.value}`)
    return list(value.value.map((entry) => apply(entry)))
  },
  select: (value, given) => selected(value, given, true),
  reject: (value, given) => selected(value, given, false),
  trim: (value, { positional }) =>
    isText(value) && positional.length > 0
      ? stripped(value, positional, { start: true, end: true })
      : undefined,
  round(value, { positional: [digits] }) {
    if (!isNumber(value)) return undefined
    const scale = 10 ** (digits && isNumber(digits) ? digits.value : 0)
    return number(Math.round(value.value * scale) / scale)
  },
}

/** The filters that `map` accepts by name. */
const byText: Record<string, (value: Held) => Held> = {
  string: (value) => text(shown(value)),
  trim: (value) => text(shown(value).trim()),
  lower: (value) => text(shown(value).toLowerCase()),
  upper: (value) => text(shown(value).toUpperCase()),
  length: (value) => number(entriesOf(value)?.length ?? 0),
  int: (value) => number(Math.trunc(Number(shown(value))) || 0),
  tojson: (value) => text(JSON.stringify(plain(value))),
}

const tests: Record<string, (value: Held, other: Held | undefined) => boolean> = {
  defined: (value) => !isMissing(value),
  none: isNone,
  string: isText,
  mapping: isObject,
  number: isNumber,
  equalto: (value, other) => value.value === other?.value,
  in: (value, other) =>
    other !== undefined && (entriesOf(other) ?? []).some((entry) => entry.value === value.value),
}

function selected(value: Held, { positional: [name, other] }: Given, wanted: boolean): Held | undefined {
  if (!isList(value)) return undefined
  const word =
    name && isText(name) ? (name.value === '==' || name.value === 'eq' ? 'equalto' : name.value) : undefined
  const test = word === undefined ? (entry: Held) => isTrue(entry) : tests[word]
  if (test === undefined) throw new Error(`select() has no test ${word}`)
  return list(value.value.filter((entry) => test(entry, other) === wanted))
}

const isTrue = (value: Held) =>
  isList(value) ? value.value.length > 0 : isObject(value) ? value.value.size > 0 : !!value.value

function extreme(
  value: Held,
  isBetter: (a: number | string, b: number | string) => boolean,
): Held | undefined {
  if (!isList(value)) return undefined
  let best: Held = missing
  for (const entry of value.value) {
    if (isMissing(best) || isBetter(entry.value as number, best.value as number)) best = entry
  }
  return best
}

/** The library sorts only texts, and writes every key as a text. */
function sortedByNumber(value: Held): Held | undefined {
  if (!isObject(value) || ![...value.value.keys()].every((key) => typeof key === 'number')) return undefined
  const entries = [...value.value].sort(([a], [b]) => Number(a) - Number(b))
  return list(pairs(entries))
}

const pairs = (entries: Iterable<[unknown, Held]>) =>
  [...entries].map(([key, member]) => list([keyValue(key), member]))

function plain(value: Held): unknown {
  if (isList(value)) return value.value.map(plain)
  if (isObject(value))
    return Object.fromEntries([...value.value].map(([key, member]) => [String(key), plain(member)]))
  return value.value
}

const emptyText = text('')
const ofTexts = new Set([
  'trim',
  'lower',
  'upper',
  'title',
  'capitalize',
  'string',
  'indent',
  'replace',
  'safe',
  'int',
  'float',
  'escape',
  'e',
])
const ofLists = new Set([
  'list',
  'length',
  'count',
  'join',
  'sort',
  'reverse',
  'unique',
  'map',
  'select',
  'reject',
  'selectattr',
  'rejectattr',
  'first',
  'last',
  'sum',
  'min',
  'max',
  'items',
  'dictsort',
])

/**
 * Jinja2 renders undefined values as nothing and iterates over them as over an empty list, and so do its filters. Here
 * none is an empty list, too: templates made for conversations with tools iterate over `tools` without testing it.
 */
export function operandOf(value: Held, filter: string): Held {
  if (isMissing(value) && ofTexts.has(filter)) return emptyText
  if ((isMissing(value) || isNone(value)) && ofLists.has(filter)) {
    return filter === 'items' || filter === 'dictsort' ? object(new Map()) : list([])
  }
  return value
}
