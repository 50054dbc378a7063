import { floatText } from '../../domain/json/canonical.ts'
import { represented, shown } from './jinja-printing.ts'
import { type Held, isFloat, isList, isNumeric, isObject, isText, text } from './jinja-values.ts'

/** The forms of Python's `%` operator and, after a colon, of `str.format()`. */
interface Form {
  flags: string
  width: number
  precision: number | undefined
  conversion: string
}

const directive = /%(?:\((\w+)\))?([#0 +-]*)(\*|\d+)?(?:\.(\d+))?[hlL]?([a-zA-Z%])/g

/** As bounded as `indent` is: what is longer is stopped where the text is measured. */
const widest = 1_000_000

/** Like `format % values` in Python: the values of a tuple, or one value, or named ones. */
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

/** The values of `format % value`. */
export function valuesOf(value: Held): { values: readonly Held[]; named: ReadonlyMap<unknown, Held> } {
  return {
    values: isList(value) && value.isTuple ? value.value : [value],
    named: isObject(value) ? value.value : new Map(),
  }
}

function converted(value: Held, { flags, precision, conversion }: Form): string {
  switch (conversion) {
    case 's':
      return shown(value).slice(0, precision)
    case 'r':
    case 'a':
      return represented(value).slice(0, precision)
    case 'c':
      return isText(value) ? value.value : String.fromCodePoint(Number(value.value))
  }
  if (!isNumeric(value)) throw new Error(`%${conversion} format: a real number is required`)
  const number = Number(value.value)
  const digits = unsigned(value, Math.abs(number), precision, conversion, flags)
  const sign =
    number < 0 || Object.is(number, -0) ? '-' : flags.includes('+') ? '+' : flags.includes(' ') ? ' ' : ''
  return sign + digits
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
  const places = Math.min(precision ?? 6, 100)
  switch (conversion.toLowerCase()) {
    case 'd':
    case 'i':
    case 'u':
      return value.digits?.replace('-', '') ?? String(BigInt(Math.trunc(size)))
    case 'x':
    case 'o': {
      const [base, prefix] = bases[conversion] as [number, string]
      const digits = BigInt(size).toString(base)
      return (flags.includes('#') ? prefix : '') + (conversion === 'X' ? digits.toUpperCase() : digits)
    }
    case 'f':
      return fixed(size, places)
    case 'e':
      return inCase(exponential(size.toExponential(places)), conversion)
    case 'g':
      return inCase(general(size, Math.max(1, places)), conversion)
  }
  throw new Error(`unsupported format character ${JSON.stringify(conversion)}`)
}

/** A tie goes to the even digit, as in Python: toFixed takes the larger one. */
function fixed(size: number, places: number): string {
  const digits = size.toFixed(places)
  const isTie =
    places < 100 && size < 1e21 && /^50*$/.test(size.toFixed(100).split('.')[1]?.slice(places) ?? '')
  if (!isTie || /[02468]$/.test(digits)) return digits
  return digits.replace(/\d$/, (last) => String(Number(last) - 1))
}

const inCase = (digits: string, conversion: string) =>
  conversion === conversion.toUpperCase() ? digits.toUpperCase() : digits

/** At least two digits of the exponent. */
const exponential = (digits: string) => digits.replace(/e([+-])(\d)$/, 'e$10$2')

function general(size: number, places: number): string {
  if (size === 0) return '0'
  const [mantissa = '', exponent = '0'] = size.toExponential(places - 1).split('e')
  const shift = Number(exponent)
  if (shift >= -4 && shift < places) return withoutZeros(size.toFixed(places - 1 - shift))
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
export function specified(value: Held, given: string): string {
  const parts = specification.exec(given)
  if (parts === null) throw new Error(`invalid format specifier ${JSON.stringify(given)}`)
  const [, fill = '', align, sign = '', hash = '', zero = '', width = '', group, precision, conversion = ''] =
    parts
  const isNumber = isNumeric(value) && conversion !== 's'
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
  if (form.conversion === '%') return `${(Number(value.value) * 100).toFixed(form.precision ?? 6)}%`
  if (form.conversion === 'r' && isFloat(value) && form.precision === undefined) {
    const number = Number(value.value)
    return (form.flags.includes('+') && number >= 0 ? '+' : '') + floatText(number)
  }
  return converted(value, form.conversion === 'r' ? { ...form, conversion: 'g' } : form)
}

function grouped(digits: string, by: string): string {
  const [whole = '', ...rest] = digits.split('.')
  return [whole.replace(/\B(?=(\d{3})+$)/g, by), ...rest].join('.')
}
