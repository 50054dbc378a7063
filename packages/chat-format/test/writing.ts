import type { CallFormat, ElementArguments, Literal, ValueType } from '../call-format.ts'

export interface WrittenCall {
  name: string
  arguments: Record<string, unknown>
}

/** Writes calls like a template with this format. */
export function written(format: CallFormat, calls: readonly WrittenCall[]): string {
  return calls
    .map((call, index) => {
      const before = index === 0 ? format.open : (format.gap ?? format.close)
      return literal(before, index) + call.name + literal(format.mid, index) + argumentsOf(format, call)
    })
    .concat(literal(format.close, calls.length))
    .join('')
}

function literal(parts: Literal, index: number): string {
  return parts
    .map((part) => (typeof part === 'string' ? part : part.hole === 'id' ? 'a1B2c3D4e' : String(index)))
    .join('')
}

function argumentsOf({ arguments: format }: CallFormat, { arguments: given }: WrittenCall): string {
  const members = Object.entries(given)
  switch (format.kind) {
    case 'json': {
      const json = JSON.stringify(given)
      return format.isQuoted ? JSON.stringify(json) : json
    }
    case 'python':
      return members.map(([key, value]) => `${key}=${python(value, format.words)}`).join(', ')
    case 'tagged': {
      if (members.length === 0) return format.empty ?? format.head + format.tail
      const all = members.map(([key, value]) => {
        const { before, mid, after, written: form, wrap } = format.values[typeOf(value)]
        const isWrapped = wrap !== undefined && /[<&\n]/.test(form === 'raw' ? String(value) : '')
        const raw = () => (isWrapped ? wrap.open + String(value) + wrap.close : String(value))
        const json = () => (form === 'quoted' ? quoted(value, format.quote ?? '') : JSON.stringify(value))
        return before + key + mid + (form === 'raw' ? raw() : json()) + after
      })
      return format.head + all.join(format.between) + format.tail
    }
    case 'elements':
      return members.map(([key, value]) => element(format, key, value)).join('')
  }
}

/** Objects and lists without further schema are written as JSON. */
function element({ prefix }: ElementArguments, key: string, value: unknown): string {
  const inner = typeof value === 'string' ? value : JSON.stringify(value)
  return `${prefix}<${key}>${inner}${prefix}</${key}>`
}

function quoted(value: unknown, quote: string): string {
  if (typeof value === 'string') return quote + value + quote
  if (Array.isArray(value)) return `[${value.map((one) => quoted(one, quote)).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([key, one]) => `${quote}${key}${quote}:${quoted(one, quote)}`)
  return `{${members.join(',')}}`
}

function typeOf(value: unknown): ValueType {
  if (value === null) return 'null'
  if (Array.isArray(value)) return 'array'
  return typeof value as ValueType
}

function python(value: unknown, words: 'python' | 'json'): string {
  if (typeof value === 'string') {
    const text = JSON.stringify(value).slice(1, -1).replaceAll('\\"', '"').replaceAll("'", "\\'")
    return `'${text}'`
  }
  if (Array.isArray(value)) return `[${value.map((one) => python(one, words)).join(', ')}]`
  if (typeof value === 'object' && value !== null) {
    return `{${Object.entries(value)
      .map(([key, one]) => `${python(key, words)}: ${python(one, words)}`)
      .join(', ')}}`
  }
  if (words === 'json' || typeof value === 'number') return JSON.stringify(value)
  return value === null ? 'None' : value === true ? 'True' : 'False'
}
