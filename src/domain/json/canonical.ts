import { compareText } from '../text.ts'
import { JsonNumber, parseLossless } from './lossless.ts'

/**
 * The one text of a JSON value that digests are made of: keys sorted by code point, `", "` and `": "` between tokens, ASCII
 * only, integers exactly, floats in the shortest form that keeps its point. The clients compute the same text in Python, so
 * the form is that of Python's json.dumps with sort_keys.
 */
export function canonicalJson(text: string): string {
  return canonicalText(parseLossless(text))
}

/** The same of a value that was parsed. */
export function canonicalText(value: unknown): string {
  return written(value, canonicalNumber)
}

/**
 * The same with every digit that a float was sent with: what a double cannot tell apart is apart here (decision 0007). 1.5 and
 * 1.50 are one number all the same.
 */
export function exactJson(text: string): string {
  return written(parseLossless(text), exactNumber)
}

function written(value: unknown, number: (token: string) => string): string {
  if (value === null) return 'null'
  switch (typeof value) {
    case 'boolean':
      return String(value)
    case 'string':
      return quoted(value)
    case 'number':
      return number(String(value))
  }
  if (value instanceof JsonNumber) return number(value.token)
  if (Array.isArray(value)) return `[${value.map((item) => written(item, number)).join(', ')}]`
  const object = value as Record<string, unknown>
  const members = sortKeys(Object.keys(object)).map(
    (key) => `${quoted(key)}: ${written(object[key], number)}`,
  )
  return `{${members.join(', ')}}`
}

/** From here on the code units of UTF-16 are in another order than the code points. */
const beyondOrder = /[\ud800-\uffff]/

/** Whether JavaScript's own order of texts is another one than by code point. */
export function isOrderedOtherwise(key: string): boolean {
  return beyondOrder.test(key)
}

function sortKeys(keys: string[]): string[] {
  return keys.some(isOrderedOtherwise) ? keys.sort(compareText) : keys.sort()
}

/** JSON writes an integer in one way alone, but for the zero. */
function canonicalNumber(token: string): string {
  if (token === '-0') return '0'
  return isWhole(token) ? token : float(Number(token))
}

function isWhole(token: string): boolean {
  return /^-?\d+$/.test(token)
}

/** Of a float its sign, its digits and its exponent, with no zeros at either end. */
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

/** As Python's repr: an exponent from 1e16 up and below 1e-4, of at least two digits. */
function float(value: number): string {
  if (!Number.isFinite(value)) return value > 0 ? 'Infinity' : '-Infinity'
  const sign = value < 0 || Object.is(value, -0) ? '-' : ''
  const [mantissa = '', exponentText = ''] = Math.abs(value).toExponential().split('e')
  const digits = mantissa.replace('.', '')
  const exponent = Number(exponentText)
  if (exponent < -4 || exponent >= 16) {
    const places = String(Math.abs(exponent)).padStart(2, '0')
    return `${sign}${mantissa}e${exponent < 0 ? '-' : '+'}${places}`
  }
  if (exponent < 0) return `${sign}0.${'0'.repeat(-exponent - 1)}${digits}`
  const whole = digits.slice(0, exponent + 1).padEnd(exponent + 1, '0')
  return `${sign}${whole}.${digits.slice(exponent + 1) || '0'}`
}

export function quoted(text: string): string {
  return JSON.stringify(text).replace(/[\u007f-\uffff]+/g, escaped)
}

function escaped(units: string): string {
  let text = ''
  for (let at = 0; at < units.length; at++) {
    text += `\\u${units.charCodeAt(at).toString(16).padStart(4, '0')}`
  }
  return text
}
