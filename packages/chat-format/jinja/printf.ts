import { floatText } from '../../json/index.ts'
import { represented, shown } from './printing.ts'
import { float, type Held, isFloat, isList, isNumeric, isObject, isText, text } from './values.ts'

/** The forms of Python's `%` operator and, after a colon, of `str.format()`. */
interface Form {
  flags: string
  width: number
  precision: number | undefined
  conversion: string
}

const directive = /%(?:\((\w+)\))?([#0 +-]*)(\*|[1-9]\d*)?(?:\.(\d+))?[hlL]?([a-zA-Z%])/g

/** As bounded as `indent` is: what is longer is stopped where the text is measured. */
const widest = 1_000_000

/** `format % value` of Python: the values of a tuple, or one value, or named ones. */
export function printedWith(format: string, value: Held): Held {
  const values = isList(value) && value.isTuple ? value.value : [value]
  return printed(format, values, isObject(value) ? value.value : new Map())
}

export function printed(format: string, values: readonly Held[], named: ReadonlyMap<unknown, Held>): Held {
  let next = 0
  const take = () => {
    const value = values[next++]
    if (value === undefined) throw new Error('not enough arguments for format string')
    return value
  }
  return text(
    format.replace(
      directive,
      (_, name?: string, flags = '', width?: string, precision?: string, conversion = '') => {
        if (conversion === '%') return '%'
        const wide = width === '*' ? Number(take().value) : Number(width ?? 0)
        const value = name === undefined ? take() : named.get(name)
        if (value === undefined) throw new Error(`format has no value for ${name}`)
        const form = {
          flags,
          width: wide,
          precision: precision === undefined ? undefined : Number(precision),
          conversion,
        }
        return padded(converted(value, form), form)
      },
    ),
  )
}

function converted(value: Held, { flags, precision, conversion }: Form): string {
  switch (conversion) {
    case 's':
      return shown(value).slice(0, precision)
    case 'r':
    case 'a':
      return represented(value).slice(0, precision)
    case 'c':
      return isText(value) ? value.value : characterOf(value)
  }
  if (!isNumeric(value)) throw new Error(`%${conversion} format: a real number is required`)
  const number = Number(value.value)
  const digits = unsigned(value, Math.abs(number), precision, conversion, flags)
  const sign =
    number < 0 || Object.is(number, -0) ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : ''
  return sign + digits
}

function characterOf(value: Held): string {
  const point = isNumeric(value) ? Number(value.value) : Number.NaN
  if (!Number.isInteger(point) || point < 0 || point > 0x10ffff)
    throw new Error('%c format: a character, or the number of one, is required')
  return String.fromCodePoint(point)
}

const bases: Readonly<Record<string, [base: number, prefix: string]>> = {
  x: [16, '0x'],
  X: [16, '0X'],
  o: [8, '0o'],
}

function unsigned(
  value: Held,
  size: number,
  precision: number | undefined,
  conversion: string,
  flags: string,
): string {
  if ('diu'.includes(conversion)) return value.digits?.replace('-', '') ?? String(wholeOf(size))
  const [base, prefix] = bases[conversion] ?? []
  if (base !== undefined) {
    if (isFloat(value)) throw new Error(`%${conversion} format: an integer is required`)
    const whole = value.digits === undefined ? wholeOf(size) : BigInt(value.digits.replace('-', ''))
    const digits = whole.toString(base)
    return (flags.includes('#') ? prefix : '') + (conversion === 'X' ? digits.toUpperCase() : digits)
  }
  if (!'eEfFgG'.includes(conversion))
    throw new Error(`unsupported format character ${JSON.stringify(conversion)}`)
  return inCase(real(size, placesOf(precision), conversion.toLowerCase()), conversion)
}

function wholeOf(size: number): bigint {
  if (!Number.isFinite(size)) throw new Error(`cannot convert float ${endless(size)} to integer`)
  return BigInt(Math.trunc(size))
}

function real(size: number, decimals: number, conversion: string): string {
  if (!Number.isFinite(size)) return endless(size)
  if (conversion === 'f') return fixed(size, decimals)
  return conversion === 'e' ? exponential(size.toExponential(decimals)) : general(size, Math.max(1, decimals))
}

const endless = (size: number) => (Number.isNaN(size) ? 'nan' : 'inf')

function placesOf(precision = 6): number {
  if (precision > 100) throw new Error('the precision of a format is larger than 100')
  return precision
}

/** A tie goes to the even digit, as in Python: toFixed takes the larger one. */
function fixed(size: number, decimals: number): string {
  // From there on toFixed writes an exponent; such a number is whole.
  if (size >= 1e21) return `${BigInt(size)}${decimals > 0 ? '.' : ''}${'0'.repeat(decimals)}`
  const digits = size.toFixed(placesOf(decimals))
  const isTie = decimals < 100 && /^50*$/.test(size.toFixed(100).split('.')[1]?.slice(decimals) ?? '')
  if (!isTie || /[02468]$/.test(digits)) return digits
  return digits.replace(/\d$/, (last) => String(Number(last) - 1))
}

const inCase = (digits: string, conversion: string) =>
  conversion === conversion.toUpperCase() ? digits.toUpperCase() : digits

/** At least two digits of the exponent. */
const exponential = (digits: string) => digits.replace(/e([+-])(\d)$/, 'e$10$2')

function general(size: number, decimals: number): string {
  if (size === 0) return '0'
  const [mantissa = '', exponent = '0'] = size.toExponential(decimals - 1).split('e')
  const shift = Number(exponent)
  if (shift >= -4 && shift < decimals) return withoutZeros(fixed(size, decimals - 1 - shift))
  return exponential(`${withoutZeros(mantissa)}e${exponent}`)
}

const withoutZeros = (digits: string) => (digits.includes('.') ? digits.replace(/\.?0+$/, '') : digits)

function padded(written: string, { flags, width, conversion }: Form): string {
  if (width > widest) throw new Error('the width of a format is too large')
  if (flags.includes('-')) return written.padEnd(width)
  if (!flags.includes('0') || 'srca'.includes(conversion)) return written.padStart(width)
  const [, sign = '', digits = ''] = /^([+ -]?(?:0[xXo])?)(.*)$/s.exec(written) ?? []
  return sign + digits.padStart(width - sign.length, '0')
}

const specification = /^(?:(.?)([<>^=]))?([+ -]?)(#?)(0?)(\d*)([,_]?)(?:\.(\d+))?([a-zA-Z%]?)$/su

/** What stands after the colon in a field of `str.format()`. */
export function specified(value: Held, spec: string): string {
  const fields = specification.exec(spec)
  if (fields === null) throw new Error(`invalid format specifier ${JSON.stringify(spec)}`)
  const [, fill = '', align, sign = '', hash = '', zero = '', width = '', group, precision, conversion = ''] =
    fields
  const isNumber = isNumeric(value) && conversion !== 's'
  if (group && !isNumber) throw new Error(`'${group}' needs a number`)
  const form: Form = {
    flags: sign + hash,
    width: Number(width),
    precision: precision === undefined ? undefined : Number(precision),
    conversion: conversion || (isNumber ? (isFloat(value) ? 'r' : precision === undefined ? 'd' : 'g') : 's'),
  }
  const body = formatted(value, form)
  const whole = group ? grouped(body, group) : body
  if (form.width > widest) throw new Error('the width of a format is too large')
  const by = align ?? (zero ? '=' : isNumber ? '>' : '<')
  const filler = align === undefined && zero ? '0' : fill || ' '
  const missing = Math.max(0, form.width - [...whole].length)
  if (by === '=') {
    const [, mark = '', digits = ''] = /^([+ -]?)(.*)$/s.exec(whole) ?? []
    return mark + filler.repeat(missing) + digits
  }
  const before = by === '>' ? missing : by === '^' ? Math.floor(missing / 2) : 0
  return filler.repeat(before) + whole + filler.repeat(missing - before)
}

function formatted(value: Held, form: Form): string {
  if (form.conversion === '%' && isNumeric(value))
    return `${converted(float(Number(value.value) * 100), { ...form, conversion: 'f' })}%`
  if (form.conversion === 'r' && isFloat(value) && form.precision === undefined) {
    const number = Number(value.value)
    return (form.flags.includes('+') && number >= 0 ? '+' : '') + floatText(number)
  }
  return converted(value, form.conversion === 'r' ? { ...form, conversion: 'g' } : form)
}

function grouped(digits: string, by: string): string {
  const [, sign = '', whole = '', rest = ''] = /^(\D*)(\d*)(.*)$/s.exec(digits) ?? []
  const first = whole.length % 3
  const groups = first > 0 ? [whole.slice(0, first)] : []
  for (let at = first; at < whole.length; at += 3) groups.push(whole.slice(at, at + 3))
  return sign + groups.join(by) + rest
}
