import { floatText } from '../../json/index.ts'
import {
  type Held,
  isFlag,
  isFloat,
  isList,
  isMissing,
  isNone,
  isNumber,
  isObject,
  isText,
  keyValue,
} from './values.ts'

/** How Python and `json.dumps` write values: a model has seen its template's output in this form only. */

/** `str()` of Python. */
export function shown(value: Held): string {
  if (isText(value)) return value.value
  return isMissing(value) ? '' : represented(value)
}

/** `repr()` of Python. */
export function represented(value: Held): string {
  if (isText(value)) return quoted(value.value)
  if (isMissing(value)) return 'Undefined'
  if (isNone(value)) return 'None'
  if (isFlag(value)) return value.value ? 'True' : 'False'
  if (isNumber(value)) return numberText(value)
  if (isList(value)) {
    const entries = value.value.map(represented)
    if (!value.isTuple) return `[${entries.join(', ')}]`
    return entries.length === 1 ? `(${entries[0]},)` : `(${entries.join(', ')})`
  }
  if (value.value instanceof Map) {
    const members = [...(value.value as Map<unknown, Held>)].map(
      ([key, member]) => `${represented(keyValue(key))}: ${represented(member)}`,
    )
    return isObject(value) ? `{${members.join(', ')}}` : `<Namespace {${members.join(', ')}}>`
  }
  return String(value)
}

function numberText(value: Held & { value: number }): string {
  if (value.digits !== undefined) return value.digits
  const { value: number } = value
  if (Number.isNaN(number)) return 'nan'
  if (!Number.isFinite(number)) return number > 0 ? 'inf' : '-inf'
  return isFloat(value) ? floatText(number) : BigInt(number).toString()
}

const escapes: Readonly<Record<string, string>> = { '\n': '\\n', '\r': '\\r', '\t': '\\t', '\\': '\\\\' }

/** What Python does not print, except for the last plane: the mark of hidden names comes from there. */
const unprinted = /[\\\p{C}\p{Zl}\p{Zp}\p{Zs}]/gu
const lastPlane = 0x100000

/** Single quotes, unless only those occur in the text. */
function quoted(text: string): string {
  const quote = text.includes("'") && !text.includes('"') ? '"' : "'"
  const body = text.replace(unprinted, (character) => {
    const code = character.codePointAt(0) as number
    if (character === ' ' || code >= lastPlane) return character
    const hex = code.toString(16)
    if (code > 0xffff) return `\\U${hex.padStart(8, '0')}`
    return escapes[character] ?? (code > 0xff ? `\\u${hex.padStart(4, '0')}` : `\\x${hex.padStart(2, '0')}`)
  })
  return `${quote}${quote === "'" ? body.replaceAll("'", "\\'") : body}${quote}`
}

interface JsonForm {
  indent: number | null
  isAscii: boolean
  separators: [item: string, key: string]
  sortsKeys: boolean
}

export const plainForm: JsonForm = {
  indent: null,
  isAscii: false,
  separators: [', ', ': '],
  sortsKeys: false,
}

/** `json.dumps()` of Python. */
export function jsonOf(value: Held, form: JsonForm = plainForm, depth = 1): string {
  if (isText(value)) return jsonText(value.value, form)
  if (isMissing(value) || isNone(value)) return 'null'
  if (isFlag(value)) return String(value.value)
  if (isNumber(value)) return jsonNumber(value)
  if (isList(value)) {
    return enclosed(
      '[]',
      value.value.map((entry) => jsonOf(entry, form, depth + 1)),
      form,
      depth,
    )
  }
  if (!(value.value instanceof Map)) throw new Error(`tojson cannot write a value of type ${value.type}`)
  const members = [...(value.value as Map<unknown, Held>)].map(
    ([key, member]) => [keyText(key), member] as const,
  )
  if (form.sortsKeys) members.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0))
  const [, between] = form.separators
  const texts = members.map(
    ([key, member]) => `${jsonText(key, form)}${between}${jsonOf(member, form, depth + 1)}`,
  )
  return enclosed('{}', texts, form, depth)
}

function enclosed(brackets: string, texts: string[], { indent, separators }: JsonForm, depth: number) {
  const [open, close] = brackets
  if (indent === null || texts.length === 0) return `${open}${texts.join(separators[0])}${close}`
  const line = (level: number) => `\n${' '.repeat(Math.max(0, indent * level))}`
  return `${open}${line(depth)}${texts.join(separators[0] + line(depth))}${line(depth - 1)}${close}`
}

function jsonNumber(value: Held & { value: number }): string {
  return Number.isFinite(value.value)
    ? numberText(value)
    : Number.isNaN(value.value)
      ? 'NaN'
      : floatText(value.value)
}

/** Names of members are texts in JSON. */
function keyText(key: unknown): string {
  const held = keyValue(key)
  return isText(held) ? held.value : jsonOf(held)
}

/** JSON.stringify also escapes lone surrogates, and Python U+007F only with `ensure_ascii`. */
function jsonText(text: string, { isAscii }: JsonForm): string {
  const json = JSON.stringify(text)
  if (!isAscii) return json
  return json.replace(/[\u007f-\u{fffff}]/gu, (character) =>
    character
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join(''),
  )
}
