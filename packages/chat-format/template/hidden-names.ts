import { LRUCache } from 'lru-cache'
import { JsonNumber } from '../../json/index.ts'
import { namesPattern } from '../control-tokens.ts'
import type { Message } from '../conversation.ts'

/**
 * Keeps the text of a user, a tool or a document plain text: a mark is inserted into each name of a control token. The
 * tokenizer reads no name across the mark, and removes it.
 */
export interface Hiding {
  /** One character that does not occur in the conversation. */
  mark: string
  names: readonly string[]
}

const maxPatterns = 4

type Finder = ReturnType<typeof createFinder>

/** Cached by the names, which are the same in every request for a model, … */
const finders = new LRUCache<string, Finder, readonly string[]>({
  max: maxPatterns,
  memoMethod: (_key, _stale, { context }) => createFinder(context),
})

/**
 * The text with marks: after the first character of each complete name, and of each name begun at the end, which the
 * following text might complete.
 */
export function hiddenText(text: string, { mark, names }: Hiding): string {
  return finderOf(names)(text, mark)
}

/** … and by the list object of this request, which has many texts. */
const known = new WeakMap<readonly string[], Finder>()

function finderOf(names: readonly string[]): Finder {
  const finder = known.get(names) ?? finders.memo(names.join('\n'), { context: names })
  known.set(names, finder)
  return finder
}

function createFinder(names: readonly string[]): (text: string, mark: string) => string {
  const long = names.filter((name) => name.length > 1)
  if (long.length === 0) return (text) => text
  // Names may overlap, so each position is tested.
  const begins = new RegExp(`(?=${namesPattern(long).source})`, 'g')
  const begun = new Set<string>()
  // Names that begin with a letter are left out: words at the ends of texts begin like them.
  for (const name of long.filter((name) => /^[^\p{L}\p{N}\s]/u.test(name))) {
    for (let length = 1; length < name.length; length++) begun.add(name.slice(0, length))
  }
  const longest = Math.max(...long.map((name) => name.length)) - 1
  return (text, mark) => {
    const positions: number[] = []
    // matchAll would compile the expression anew for each text.
    begins.lastIndex = 0
    for (let found = begins.exec(text); found !== null; found = begins.exec(text)) {
      positions.push(found.index)
      begins.lastIndex = found.index + 1
    }
    for (let length = Math.min(longest, text.length); length > 0; length--) {
      if (begun.has(text.slice(-length))) positions.push(text.length - length)
    }
    if (positions.length === 0) return text
    let hidden = ''
    let from = 0
    for (const position of positions.sort((a, b) => a - b)) {
      const to = position + ((text.codePointAt(position) ?? 0) > 0xffff ? 2 : 1)
      hidden += text.slice(from, to) + mark
      from = to
    }
    return hidden + text.slice(from)
  }
}

/** Text of the assistant is left unchanged, because templates look for marks in it; its calls are not. */
export function hiddenMessage(message: Message, hiding: Hiding): Message {
  if (message.role !== 'assistant') return hiddenValue(message, hiding) as Message
  const { tool_calls: calls } = message
  return calls === undefined
    ? message
    : { ...message, tool_calls: hiddenValue(calls, hiding) as NonNullable<typeof calls> }
}

/** Applied to every text in the value, including names of members. */
export function hiddenValue(value: unknown, hiding: Hiding): unknown {
  if (typeof value === 'string') return hiddenText(value, hiding)
  if (Array.isArray(value)) return value.map((entry) => hiddenValue(entry, hiding))
  if (typeof value !== 'object' || value === null || value instanceof JsonNumber) return value
  return Object.fromEntries(
    Object.entries(value).map(([name, member]) => [hiddenText(name, hiding), hiddenValue(member, hiding)]),
  )
}
