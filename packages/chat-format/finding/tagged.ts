import type { TaggedArguments, TaggedValue } from '../call-format.ts'
import type { FoundCalls } from './found-calls.ts'
import { findObject, isSame, parsed } from './json-texts.ts'
import { probeCalls } from './probe-calls.ts'
import { callFormat, literalsOf, skeletonOf } from './skeleton.ts'
import { commonStart, outsideMarks, type TurnProbe } from './turns.ts'

const key = 'kzA'
const other = 'kzB'

/** Finds arguments with marks around each key and value. */
export function findTagged(probe: TurnProbe): FoundCalls | undefined {
  const withOne = probe.callsOf(probeCalls([{ [key]: 'vzAx' }]))
  const two = probe.callsOf(probeCalls([{ [key]: 'vzAx', [other]: 'vzBx' }]))
  const none = probe.callsOf(probeCalls([{}]))
  if (withOne === undefined || two === undefined || none === undefined) return undefined
  const [single] = placesOf(withOne, 'vzAx', [key])
  const [first, second] = placesOf(two, 'vzAx', [key, other], 'vzBx')
  const name = withOne.indexOf('qzfA')
  const noneName = none.indexOf('qzfA')
  if (single === undefined || first === undefined || second === undefined || name === -1 || noneName === -1) {
    return undefined
  }
  const marks = aroundArguments({
    before: withOne.slice(name + 4, single.key),
    between: two.slice(first.end, second.key),
    after: withOne.slice(single.end),
    none: none.slice(noneName + 4),
  })
  if (marks === undefined) return undefined
  const found = valuesOf(probe, marks)
  if (found === undefined) return undefined
  const { values, quote, words } = found
  const literals = gapsOf(probe, marks)
  if (literals === undefined) return undefined
  const form: TaggedArguments = {
    kind: 'tagged',
    head: '',
    between: marks.between,
    tail: '',
    values,
    ...(quote !== undefined && { quote }),
    ...(words && { words }),
  }
  return { format: callFormat(literals, form), isText: false, hasPlainNesting: found.hasPlainNesting }
}

interface Place {
  key: number
  value: number
  end: number
}

/** The positions of keys and their values after the name. */
function placesOf(text: string, ...rest: [string, string[], string?]): Place[] {
  const [firstValue, keys, secondValue] = rest
  const wanted = [firstValue, secondValue]
  const positions: Place[] = []
  let from = text.indexOf('qzfA')
  for (const [index, name] of keys.entries()) {
    const value = wanted[index]
    const keyAt = text.indexOf(name, from)
    const valueAt = value === undefined ? -1 : text.indexOf(value, keyAt + name.length)
    if (keyAt === -1 || valueAt === -1 || value === undefined) return []
    positions.push({ key: keyAt, value: valueAt, end: valueAt + value.length })
    from = valueAt + value.length
  }
  return positions
}

interface Parts {
  /** From the name to the arguments. */
  mid: string
  before: string
  between: string
  after: string
  /** From the arguments to the end of the turn. */
  close: string
}

/**
 * A call without arguments is `mid close`, one with an argument `mid before KEY … VALUE after close`, and two arguments
 * are separated by `after between before`. Undefined if no way to cut the texts fits all three.
 */
function aroundArguments(seen: {
  before: string
  between: string
  after: string
  none: string
}): Parts | undefined {
  for (let length = commonStart(seen.before, seen.none); length >= 0; length--) {
    if (outsideMarks(seen.none, length) !== length) continue
    const mid = seen.none.slice(0, length)
    const close = seen.none.slice(length)
    if (!seen.after.endsWith(close)) continue
    const before = seen.before.slice(length)
    const after = seen.after.slice(0, seen.after.length - close.length)
    if (seen.between.length < before.length + after.length) continue
    if (!seen.between.startsWith(after) || !seen.between.endsWith(before)) continue
    return {
      mid,
      before,
      between: seen.between.slice(after.length, seen.between.length - before.length),
      after,
      close,
    }
  }
  return undefined
}

const examples = {
  string: 'vz"A\\x',
  number: 90417,
  boolean: true,
  object: { ozA: 'ovz' },
  array: ['azA', 90418],
}

/** The marks around the value of each type, and how it is written. */
function valuesOf(probe: TurnProbe, marks: Parts) {
  const string = writtenAs(probe, marks, examples.string)
  const number = writtenAs(probe, marks, examples.number)
  const boolean = writtenAs(probe, marks, examples.boolean)
  if (!string || !number || !boolean) return undefined
  // Templates may write none as nothing at all, which only shows that it is not a text.
  const none = writtenAs(probe, marks, null) ?? number
  const wrap = wrapOf(probe, marks, string.value)
  const object = writtenAs(probe, marks, examples.object)
  const array = writtenAs(probe, marks, examples.array)
  // Both must be written in the same way, or neither can be relied on.
  const isQuoted = object?.quote !== undefined && object.quote === array?.quote
  const isPlain = object?.quote === undefined && array?.quote === undefined
  const held = (value: FoundValue | undefined) => (isQuoted || isPlain ? value?.value : undefined)
  const values: TaggedArguments['values'] = {
    string: { ...string.value, ...(wrap && { wrap }) },
    number: number.value,
    boolean: boolean.value,
    null: none.value,
    object: held(object) ?? number.value,
    array: held(array) ?? number.value,
  }
  return {
    values,
    quote: isQuoted ? object.quote : undefined,
    words: boolean.isPythonWord ? ('python' as const) : undefined,
    hasPlainNesting: held(object) !== undefined && held(array) !== undefined,
  }
}

/** The marks around a text that could be mistaken for marks, if they differ from those around all texts. */
function wrapOf(probe: TurnProbe, marks: Parts, { mid, after, written }: TaggedValue): TaggedValue['wrap'] {
  const text = probe.callsOf(probeCalls([{ [key]: marked }]))
  const at = text?.lastIndexOf(marked) ?? -1
  if (written !== 'raw' || text === undefined || at === -1 || !text.endsWith(after + marks.close))
    return undefined
  const from = text.indexOf(key) + key.length + mid.length
  const open = text.slice(from, at)
  const close = text.slice(at + marked.length, text.length - (after + marks.close).length)
  return open === '' || close === '' ? undefined : { open, close }
}

const marked = 'vz<&\nx'

interface FoundValue {
  value: TaggedValue
  quote?: string
  isPythonWord: boolean
}

function writtenAs(probe: TurnProbe, marks: Parts, example: unknown): FoundValue | undefined {
  const text = probe.callsOf(probeCalls([{ [key]: example }]))
  const name = text?.indexOf('qzfA') ?? -1
  if (text === undefined || name === -1) return undefined
  const start = name + 4 + marks.mid.length
  const keyAt = text.indexOf(key, start)
  if (keyAt === -1 || !text.endsWith(marks.close)) return undefined
  const from = keyAt + key.length
  const end = text.length - marks.close.length
  const rest = text.slice(from, end)
  const found = literalAt(rest, example)
  if (found === undefined) return undefined
  const value = {
    before: text.slice(start, keyAt),
    mid: rest.slice(0, found.start),
    after: rest.slice(found.end),
    written: found.written,
  }
  return {
    value,
    isPythonWord: found.isPythonWord === true,
    ...(found.quote !== undefined && { quote: found.quote }),
  }
}

interface FoundLiteral {
  start: number
  end: number
  written: TaggedValue['written']
  quote?: string
  isPythonWord?: true
}

function literalAt(text: string, example: unknown): FoundLiteral | undefined {
  if (typeof example === 'object' && example !== null) {
    if (!Array.isArray(example)) {
      const found = findObject(text, example, 0)
      return found && !found.isQuoted ? { ...found, written: 'json' } : quotedAt(text, /\{ozA:(\S+)ovz\1\}/)
    }
    for (let start = text.indexOf('['); start !== -1; start = text.indexOf('[', start + 1)) {
      for (let end = text.indexOf(']', start); end !== -1; end = text.indexOf(']', end + 1)) {
        if (isSame(parsed(text.slice(start, end + 1)), example))
          return { start, end: end + 1, written: 'json' }
      }
    }
    return quotedAt(text, /\[(\S+)azA\1,\s*90418\]/)
  }
  const json = JSON.stringify(example)
  // The last one: the name of the type may precede the value.
  const start = text.lastIndexOf(json)
  if (start !== -1) return { start, end: start + json.length, written: 'json' }
  if (typeof example !== 'string') return pythonWordAt(text, example)
  const raw = text.indexOf(example)
  return raw === -1 ? undefined : { start: raw, end: raw + example.length, written: 'raw' }
}

/** Jinja writes a flag and none as Python does, unless the template converts them to JSON. */
function pythonWordAt(text: string, example: unknown): FoundLiteral | undefined {
  const word = example === true ? 'True' : example === null ? 'None' : undefined
  const start = word === undefined ? -1 : text.lastIndexOf(word)
  if (word === undefined || start === -1) return undefined
  return { start, end: start + word.length, written: 'json', isPythonWord: true }
}

function quotedAt(text: string, pattern: RegExp): FoundLiteral | undefined {
  const found = pattern.exec(text)
  if (found === null) return undefined
  const [whole, quote = ''] = found
  return { start: found.index, end: found.index + whole.length, written: 'quoted', quote }
}

function gapsOf(probe: TurnProbe, { before, after }: Parts) {
  function told(count: number) {
    const asked = probeCalls(Array.from({ length: count }, () => ({ [key]: 'vzAx' })))
    const text = probe.callsOf(asked)
    const skeleton =
      text === undefined
        ? undefined
        : skeletonOf(text, asked, (whole, _call, from) => {
            const value = whole.indexOf('vzAx', from)
            if (value === -1) return undefined
            const keyAt = whole.indexOf(key, from)
            const end = value + 4
            if (!whole.startsWith(after, end)) return undefined
            return { start: keyAt - before.length, end: end + after.length }
          })
    return skeleton && { calls: asked, skeleton }
  }
  const single = told(1)
  return single && literalsOf(single, told(3))
}
