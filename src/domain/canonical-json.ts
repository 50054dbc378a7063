import { compareText } from './expressions/text.ts'
import { JsonNumber, parseLossless } from './lossless-json.ts'

/**
 * The one text of a JSON value that digests are made of: keys sorted by code point, `", "` and `": "` between tokens, ASCII
 * only, integers exactly, floats in the shortest form that keeps its point. The clients compute the same text in Python, so
 * the form is that of Python's json.dumps with sort_keys.
 */
export function canonicalJson(text: string): string {
  return written(parseLossless(text))
}

function written(value: unknown): string {
  if (value === null) return 'null'
  switch (typeof value) {
    case 'boolean':
      return String(value)
    case 'string':
      return quoted(value)
    case 'number':
      return Number.isInteger(value) ? String(value) : float(value)
  }
  if (value instanceof JsonNumber) return number(value.token)
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`
  const object = value as Record<string, unknown>
  const members = Object.keys(object)
    .sort(compareText)
    .map((key) => `${quoted(key)}: ${written(object[key])}`)
  return `{${members.join(', ')}}`
}

/** JSON writes an integer in one way alone, but for the zero. */
function number(token: string): string {
  if (token === '-0') return '0'
  return /^-?\d+$/.test(token) ? token : float(Number(token))
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

function quoted(text: string): string {
  return JSON.stringify(text).replace(
    /[\u007f-\uffff]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}
