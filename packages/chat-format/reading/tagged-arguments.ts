import type { TaggedArguments, TaggedValue, ValueType } from '../call-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import {
  absent,
  greedyOf,
  inSequence,
  type Matcher,
  short,
  space,
  tolerantly,
  withExactEnd,
} from './literals.ts'
import type { PartCollector } from './part-collector.ts'
import type { PieceReader, Source } from './source.ts'
import { readTypedValue } from './typed-value.ts'
import { propertyOf, typesOf } from './value-types.ts'

/** No key is longer. */
const maxKeyLength = 512

/** The matchers for tagged arguments, made once for each format. */
interface TaggedMarks {
  /** The mark before the first key, and the one before other keys. */
  first: Matcher
  next: Matcher
  /** After the last argument, and in place of arguments. */
  tail: Matcher
  none: Matcher
  behind: Matcher
  values: readonly { mid: Matcher; after: string; of: ReadonlyMap<ValueType, TaggedValue['written']> }[]
  quote: string | undefined
  wrap: TaggedValue['wrap']
  /** The ends of a value without a mark of its own after it. */
  ends: readonly string[]
}

/** `behind` matches what follows all arguments of a call, and `closing` has the texts with which it begins. */
export function taggedMarks(
  format: TaggedArguments,
  behind: Matcher,
  closing: readonly string[],
): TaggedMarks {
  const { head, between, tail, empty = head + tail, values, quote } = format
  const all = Object.values(values)
  const befores = [...new Set(all.map(({ before }) => before))]
  const beforeKey = (texts: readonly string[]) => greedyOf(texts.map((text) => mark(text, true)))
  return {
    first: beforeKey(befores.map((before) => head + before)),
    next: beforeKey(befores.map((before) => between + before)),
    tail: mark(tail),
    none: mark(empty),
    behind,
    values: groups(values),
    quote,
    wrap: values.string.wrap,
    ends: [...befores.map((before) => between + before), ...closing.map((text) => tail + text)].filter(
      (text) => text !== '',
    ),
  }
}

/** A mark between arguments, with the white space that models write before it. */
function mark(text: string, isBeforeName = false): Matcher {
  return inSequence([space, tolerantly([text], { isAfterName: false, isBeforeName, isJson: false })])
}

/** Types whose values have the same marks are told apart by the schema. */
function groups(values: TaggedArguments['values']): TaggedMarks['values'] {
  const found = new Map<string, { mid: string; after: string; of: Map<ValueType, TaggedValue['written']> }>()
  for (const [type, { mid, after, written }] of Object.entries(values)) {
    const key = JSON.stringify([mid, after])
    const group = found.get(key) ?? { mid, after, of: new Map() }
    group.of.set(type as ValueType, written)
    found.set(key, group)
  }
  return [...found.values()].map((group) => ({ ...group, mid: withExactEnd(group.mid) }))
}

/** Whether the first argument, or the end without arguments, is here. */
export function taggedBegin({ first, none, behind, values }: TaggedMarks): Matcher {
  const nothing = inSequence([none, behind])
  return (text, at) => {
    const ended = nothing(text, at)
    if (ended !== absent) return ended === short ? short : at
    const found = argumentAt(text, at, first, values)
    return typeof found === 'object' ? at : found
  }
}

interface Argument {
  key: string
  group: TaggedMarks['values'][number]
  end: number
}

/**
 * Reads tagged arguments and emits them as JSON. Anything unreadable ends them, so that the result is JSON all the
 * same. False when the text ends before they do.
 */
export function* readTagged(
  source: Source,
  collector: PartCollector,
  { first, next, tail, none, behind, values, quote, wrap, ends }: TaggedMarks,
  { parameters }: OfferedTool,
): PieceReader<boolean> {
  for (let isFirst = true; ; ) {
    const { text, at, isOver } = source
    const end = (isFirst ? none : tail)(text, at)
    const ended = end < 0 ? end : behind(text, end)
    const found = ended < 0 && ended !== short ? argumentAt(text, at, isFirst ? first : next, values) : ended
    if (typeof found === 'object') {
      source.at = found.end
      collector.arguments(`${isFirst ? '{' : ', '}${JSON.stringify(found.key)}: `)
      const { of, after } = found.group
      const types = typesOf(propertyOf(parameters, found.key, parameters), parameters)
      if (!(yield* readTypedValue(source, collector, { of, types, quote, wrap, after, ends }))) return false
      isFirst = false
    } else if (found === short) {
      if (isOver) return false
      yield
    } else {
      if (end >= 0) source.at = end
      collector.arguments(isFirst ? '{}' : '}')
      return true
    }
  }
}

/** The key ends at the first position where the separator of key and value matches. */
function argumentAt(
  text: string,
  at: number,
  mark: Matcher,
  values: TaggedMarks['values'],
): Argument | typeof absent | typeof short {
  const from = mark(text, at)
  if (from < 0) return from === short ? short : absent
  for (let end = from + 1; end <= Math.min(text.length, from + maxKeyLength); end++) {
    const found = values.map((group) => ({ group, end: group.mid(text, end) }))
    if (found.some((match) => match.end === short)) return short
    const [longest] = found.filter((match) => match.end >= 0).sort((a, b) => b.end - a.end)
    if (longest !== undefined) return { key: text.slice(from, end), ...longest }
  }
  return text.length <= from + maxKeyLength ? short : absent
}
