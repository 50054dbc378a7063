import { LRUCache } from 'lru-cache'
import { namesPattern } from '../control-tokens.ts'
import type { Message } from './conversation.ts'

/**
 * What keeps a text of a user, a tool or a document text: a mark inside each name of a control token. The tokenizer reads no
 * name across it, and takes it out.
 */
export interface Hiding {
  /** One character, which the conversation has not. */
  mark: string
  names: readonly string[]
}

const mostPatterns = 4

type Finder = ReturnType<typeof createFinder>

/** By the names, which are the same in every request for a model, … */
const finders = new LRUCache<string, Finder, readonly string[]>({
  max: mostPatterns,
  memoMethod: (_key, _stale, { context }) => createFinder(context),
})

/** The same text with marks: behind the first character of each name, whole or begun at the end, where what follows may complete it. */
export function hiddenText(text: string, { mark, names }: Hiding): string {
  return finderOf(names)(text, mark)
}

/** … and by the list of them in this request, which has many texts. */
const known = new WeakMap<readonly string[], Finder>()

function finderOf(names: readonly string[]): Finder {
  const finder = known.get(names) ?? finders.memo(names.join('\n'), { context: names })
  known.set(names, finder)
  return finder
}

function createFinder(names: readonly string[]): (text: string, mark: string) => string {
  const long = names.filter((name) => name.length > 1)
  if (long.length === 0) return (text) => text
  // Names may overlap, so each place is looked at.
  const begins = new RegExp(`(?=${namesPattern(long).source})`, 'g')
  const begun = new Set<string>()
  // Where a name begins with a letter, so do words at the ends of texts.
  for (const name of long.filter((name) => /^[^\p{L}\p{N}\s]/u.test(name))) {
    for (let length = 1; length < name.length; length++) begun.add(name.slice(0, length))
  }
  const longest = Math.max(...long.map((name) => name.length)) - 1
  return (text, mark) => {
    const places: number[] = []
    // matchAll would compile the expression anew for each text.
    begins.lastIndex = 0
    for (let found = begins.exec(text); found !== null; found = begins.exec(text)) {
      places.push(found.index)
      begins.lastIndex = found.index + 1
    }
    for (let length = Math.min(longest, text.length); length > 0; length--) {
      if (begun.has(text.slice(-length))) places.push(text.length - length)
    }
    if (places.length === 0) return text
    let hidden = ''
    let from = 0
    for (const place of places.sort((one, other) => one - other)) {
      const to = place + ((text.codePointAt(place) ?? 0) > 0xffff ? 2 : 1)
      hidden += text.slice(from, to) + mark
      from = to
    }
    return hidden + text.slice(from)
  }
}

/** What the model has said stays as it is, because templates look for marks in it; what it has called does not. */
export function hiddenMessage(message: Message, hiding: Hiding): Message {
  if (message.role !== 'assistant') return hiddenValue(message, hiding) as Message
  const { tool_calls: calls } = message
  return calls === undefined
    ? message
    : { ...message, tool_calls: hiddenValue(calls, hiding) as NonNullable<typeof calls> }
}

/** Every text in it, names of members too. */
export function hiddenValue(value: unknown, hiding: Hiding): unknown {
  if (typeof value === 'string') return hiddenText(value, hiding)
  if (Array.isArray(value)) return value.map((one) => hiddenValue(one, hiding))
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, one]) => [hiddenText(name, hiding), hiddenValue(one, hiding)]),
  )
}
