import { compareText } from './code-points.ts'
import { Scan } from './scan.ts'

/**
 * The canonical text of a JSON value, from which digests are made: keys sorted by code point, `", "` and `": "` between
 * tokens, ASCII only, integers exactly, floats in the shortest form that keeps the point. The clients compute the same
 * text in Python, so the form is that of Python's json.dumps with sort_keys.
 */
export function canonicalJson(text: string): string {
  return rewritten(text, canonicalNumber)
}

/**
 * The same, with every digit that a float was sent with: numbers that are equal as doubles stay distinct (decision
 * 0007). 1.5 and 1.50 are still one number.
 */
export function exactJson(text: string): string {
  return rewritten(text, exactNumber)
}

/** Converts text to text in one pass: parsed values of a large text would take many times its memory. */
function rewritten(text: string, number: (token: string) => string): string {
  const scan = new Scan(text)
  let end = 0
  function write(at: number): string {
    if (scan.isObject(at)) {
      // If a key is repeated, the last value counts.
      const members = new Map<string, string>()
      for (let i = scan.enter(at); i !== -1; i = scan.after(end)) {
        const from = scan.key(i)
        const { name } = scan
        members.set(name, write(from))
      }
      end = scan.end
      const keys = sortKeys([...members.keys()])
      return `{${keys.map((key) => `${quoted(key)}: ${members.get(key)}`).join(', ')}}`
    }
    if (scan.isList(at)) {
      const items: string[] = []
      for (let i = scan.enter(at); i !== -1; i = scan.after(end)) items.push(write(i))
      end = scan.end
      return `[${items.join(', ')}]`
    }
    end = scan.skip(at)
    const token = text.slice(at, end)
    if (token.startsWith('"')) return plainString.test(token) ? token : quoted(JSON.parse(token) as string)
    return /^[tfn]/.test(token) ? token : number(token)
  }
  return write(scan.space(0))
}

/** ASCII without escapes. */
const plainString = /^"[ !#-[\]-~]*"$/

/** From here on, UTF-16 code units and code points sort differently. */
const beyondOrder = /[\ud800-\uffff]/

function sortKeys(keys: string[]): string[] {
  return keys.some((key) => beyondOrder.test(key)) ? keys.sort(compareText) : keys.sort()
}

/** An integer has only one JSON spelling, except for zero. */
function canonicalNumber(token: string): string {
  if (token === '-0') return '0'
  return isWhole(token) ? token : floatText(Number(token))
}

function isWhole(token: string): boolean {
  return /^-?\d+$/.test(token)
}

/** The sign, digits and exponent of a float, without leading or trailing zeros. */
function exactNumber(token: string): string {
  if (isWhole(token)) return canonicalNumber(token)
  const [mantissa = '', exponent = '0'] = token.toLowerCase().split('e')
  const [whole = '', fraction = ''] = mantissa.replace('-', '').split('.')
  const digits = whole + fraction
  let from = 0
  while (digits[from] === '0') from++
  let to = digits.length
  while (to > from && digits[to - 1] === '0') to--
  const sign = token.startsWith('-') ? '-' : ''
  if (from === to) return `${sign}0.0`
  const scale = Number(exponent) + whole.length - from
  return Number.isSafeInteger(scale) ? `${sign}0.${digits.slice(from, to)}e${scale}` : token
}

/** Like Python's repr: an exponent of at least two digits from 1e16 up and below 1e-4. */
export function floatText(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  if (value === 0) return Object.is(value, -0) ? '-0.0' : '0.0'
  const size = Math.abs(value)
  // In this range JavaScript writes the same digits.
  if (size >= 1e-4 && size < 1e16) return Number.isInteger(value) ? `${value}.0` : String(value)
  const [mantissa = '', exponent = ''] = value.toExponential().split('e')
  return `${mantissa}e${exponent.slice(0, 1)}${exponent.slice(1).padStart(2, '0')}`
}

function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]+/g, escaped)
}

function escaped(units: string): string {
  let text = ''
  for (let at = 0; at < units.length; at++) {
    text += `\\u${units.charCodeAt(at).toString(16).padStart(4, '0')}`
  }
  return text
}
