import type { CallFormat } from '../call-format.ts'
import type { Part } from '../parts.ts'
import { createAnswerReader } from '../reading/answer-reader.ts'
import type { FoundCalls } from './found-calls.ts'
import { isSame, parsed } from './json-texts.ts'
import type { ProbeCall } from './probe-calls.ts'
import type { TurnProbe } from './turns.ts'

/** Texts that are hard to tell from the text around them. */
const hostile = [
  '',
  ' ',
  'plain',
  ' spaces around ',
  'two\nlines\n',
  '\n\nlines around\n\n',
  '"quoted"',
  "it's",
  'C:\\dir\\new',
  '<b>&amp;</b>',
  '</tool_call>',
  '<tool_call>\n{"name": "x", "arguments": {}}',
  '{"a": [1, "}"]}',
  '[1, 2]',
  'true',
  '42',
  'null',
  'grüße 🙂 日本',
  '{{ 1 + 1 }}{% raw %}',
  'a, b=(c)',
  '\t\u0001\u2028',
]

/** Enough that a few lucky calls prove nothing. */
const calls = 64
const maxInTurn = 3

/**
 * Renders random calls of random tools with the template and reads them back. Returns what went wrong, or undefined.
 * `until` returns whether there is time for more.
 */
export function disproof(
  probe: TurnProbe,
  { format, isText, hasPlainNesting }: FoundCalls,
  { names, until }: { names: readonly string[]; until(): boolean },
): string | undefined {
  const random = generator(20_110_331)
  const limits = { closing: closingTexts(format), hasPlainNesting, hasBareKeys: hasBareKeys(format) }
  for (let done = 0; done < calls && until(); ) {
    const count = format.gap === undefined ? 1 : 1 + Math.floor(random() * maxInTurn)
    const made = Array.from({ length: count }, (_, index) =>
      randomCall(random, names[index] as string, limits),
    )
    const asked: ProbeCall[] = made.map(({ name, args }, index) => ({
      id: `id${done}x${index}abcdef`.slice(0, 9),
      name,
      arguments: isText ? JSON.stringify(args) : args,
    }))
    const text = probe.callsOf(asked)
    if (text === undefined) return 'it raises an error for a call that it should show'
    const read = readBack(
      text,
      format,
      made.map(({ name, schema }) => ({ name, parameters: schema, strict: false })),
      random,
    )
    const wrong =
      read.length !== made.length ||
      made.some(
        ({ name, args }, index) => read[index]?.name !== name || !isSame(parsed(read[index].text), args),
      )
    if (wrong)
      return `${JSON.stringify(made.map(({ name, args }) => ({ name, args })))} becomes ${JSON.stringify(text)}, which reads as ${JSON.stringify(read)}`.slice(
        0,
        2_000,
      )
    done += count
  }
  return undefined
}

function readBack(
  text: string,
  format: CallFormat,
  tools: { name: string; parameters: object; strict: boolean }[],
  random: () => number,
): { name: string; text: string }[] {
  const reader = createAnswerReader({
    thought: 'over',
    calls: { format, tools, newId: String, isParallel: true },
  })
  const deltas: Part[] = []
  for (let at = 0; at < text.length; ) {
    const length = 1 + Math.floor(random() * 12)
    deltas.push(...reader.push(text.slice(at, at + length)))
    at += length
  }
  deltas.push(...reader.end())
  const read: { name: string; text: string }[] = []
  for (const delta of deltas) {
    if (delta.kind === 'call') read.push({ name: delta.name, text: '' })
    else if (delta.kind === 'arguments') (read[delta.index] as { text: string }).text += delta.text
    // Content next to the calls was not in the calls that were rendered.
    else if (delta.kind === 'content' && delta.text.trim() !== '') return []
  }
  return read
}

/** What values may contain. */
interface Limits {
  closing: readonly string[]
  hasPlainNesting: boolean
  /** Keys inside values are written unchanged, and the type of a value may depend on its schema. */
  hasBareKeys: boolean
}

interface RandomCall {
  name: string
  args: Record<string, unknown>
  schema: object
}

function randomCall(random: () => number, name: string, limits: Limits): RandomCall {
  const args: Record<string, unknown> = {}
  const properties: Record<string, object> = {}
  const count = Math.floor(random() * 4)
  for (let index = 0; index < count; index++) {
    const key = `${['city', 'max_results', 'Q', 'is-new'][Math.floor(random() * 4)]}${index}`
    const { value, schema } = randomValue(random, limits)
    args[key] = value
    properties[key] = schema
  }
  return { name, args, schema: { type: 'object', properties } }
}

function randomValue(
  random: () => number,
  { closing, hasPlainNesting, hasBareKeys: isBare }: Limits,
): { value: unknown; schema: object } {
  const text = () => {
    const chosen = hostile[Math.floor(random() * hostile.length)] as string
    return closing.some((literal) => chosen.includes(literal)) ? 'plain' : chosen
  }
  switch (Math.floor(random() * (hasPlainNesting ? 7 : 5))) {
    case 0:
      return { value: Math.floor(random() * 1e6) - 5e5, schema: { type: 'integer' } }
    case 1:
      return { value: random() < 0.5, schema: { type: 'boolean' } }
    case 5:
      return { value: [text(), text()], schema: { type: 'array', items: { type: 'string' } } }
    case 6:
      if (isBare) return bareObject(text, random)
      return { value: { [text()]: text(), n: [1, null, { b: true }] }, schema: { type: 'object' } }
    default:
      return { value: text(), schema: { type: 'string' } }
  }
}

function bareObject(text: () => string, random: () => number) {
  const value = {
    by: text(),
    n: [1, Math.floor(random() * 100)],
    deep: { yes: random() < 0.5, all: [text()] },
  }
  const texts = { type: 'array', items: { type: 'string' } }
  const properties = {
    by: { type: 'string' },
    n: { type: 'array', items: { type: 'integer' } },
    deep: { type: 'object', properties: { yes: { type: 'boolean' }, all: texts } },
  }
  return { value, schema: { type: 'object', properties } }
}

function hasBareKeys({ arguments: form }: CallFormat): boolean {
  return form.kind === 'elements' || (form.kind === 'tagged' && form.quote !== undefined)
}

/** A text that is written unchanged cannot contain what closes it, and templates write no Python escapes. */
function closingTexts({ arguments: form }: CallFormat): string[] {
  if (form.kind === 'python') return ["'", '"', '\\']
  if (form.kind === 'elements') return [`${form.prefix}</`]
  if (form.kind !== 'tagged' || form.values.string.written !== 'raw') return []
  const { after, wrap } = form.values.string
  return [wrap === undefined ? after.trim() : wrap.close, form.quote ?? ''].filter((text) => text !== '')
}

/** Small and the same everywhere, so that a template is proven always or never. */
function generator(seed: number): () => number {
  let state = seed
  return () => {
    state = (state * 1_664_525 + 1_013_904_223) % 2 ** 32
    return state / 2 ** 32
  }
}
