import { type Filter, FilterError, type Sign } from './filter.ts'

type Token =
  | { kind: '(' | ')' | '-' | 'or' | 'and'; from: number; to: number }
  | { kind: 'words'; text: string; from: number; to: number }
  /** `at` is where the value begins; absent before a group in parentheses. */
  | {
      kind: 'field'
      field: string
      sign: Sign
      value: { text: string; isQuoted: boolean } | undefined
      from: number
      to: number
    }

const space = /\s+/y
const quoted = /"((?:[^"\\]|\\.)*)"/y
const bare = /[^\s()"]+/y
/** A path contains dots, brackets and escaped dots. */
const fieldName = /((?:[\p{L}_](?:[\p{L}\p{N}_./-]|\\.|\[[^\]\s]*\])*)):(>=|<=|>|<|=)?/uy

/** How deep parentheses and minus signs may be nested. */
const deepest = 50

function tokensOf(text: string): Token[] {
  const tokens: Token[] = []
  let at = 0
  const match = (pattern: RegExp): RegExpExecArray | null => {
    pattern.lastIndex = at
    const found = pattern.exec(text)
    if (found) at += found[0].length
    return found
  }
  while (at < text.length) {
    if (match(space)) continue
    const from = at
    const char = text[at]
    if (char === '(' || char === ')') {
      at++
      tokens.push({ kind: char, from, to: at })
    } else if (char === '-' && at + 1 < text.length && !/\s/.test(text[at + 1] as string)) {
      at++
      tokens.push({ kind: '-', from, to: at })
    } else if (char === '"') {
      const found = match(quoted)
      if (!found) throw new FilterError('A quotation mark is not closed.', from, text.length)
      tokens.push({ kind: 'words', text: plain(found[1] ?? ''), from, to: at })
    } else {
      const name = match(fieldName)
      if (name) {
        const [, field = '', sign = ''] = name
        const inQuotes = match(quoted)
        if (text[at] === '"') throw new FilterError('A quotation mark is not closed.', at, text.length)
        const word = inQuotes ? null : match(bare)
        const value = inQuotes
          ? { text: plain(inQuotes[1] ?? ''), isQuoted: true }
          : word
            ? { text: word[0], isQuoted: false }
            : undefined
        if (value === undefined && text[at] !== '(') {
          throw new FilterError(`${field} needs a value: ${field}:value`, from, at)
        }
        tokens.push({ kind: 'field', field, sign: sign as Sign, value, from, to: at })
        continue
      }
      const word = match(bare)?.[0] ?? ''
      const lower = word.toLowerCase()
      if (word === 'OR' || word === 'AND') tokens.push({ kind: lower as 'or', from, to: at })
      else tokens.push({ kind: 'words', text: word, from, to: at })
    }
  }
  return tokens
}

const plain = (text: string) => text.replace(/\\(.)/g, '$1')

/** Parses the text of the filter bar. Throws a FilterError where it cannot be parsed. */
export function readFilter(text: string): Filter {
  const tokens = tokensOf(text)
  let at = 0
  const next = () => tokens[at]

  function anyOf(depth: number): Filter {
    const of = [allOf(depth)]
    while (next()?.kind === 'or') {
      at++
      of.push(allOf(depth))
    }
    return of.length === 1 ? (of[0] as Filter) : { kind: 'any', of }
  }

  function allOf(depth: number): Filter {
    const of: Filter[] = []
    for (;;) {
      const token = next()
      if (token === undefined || token.kind === ')' || token.kind === 'or') break
      if (token.kind === 'and') {
        if (of.length === 0) throw new FilterError('AND goes between two conditions.', token.from, token.to)
        at++
      }
      of.push(condition(depth))
    }
    if (of.length === 1) return of[0] as Filter
    if (of.length === 0 && (depth > 0 || tokens.length > 0)) {
      const { from, to } = next() ?? (tokens.at(-1) as Token)
      throw new FilterError('A condition is missing here.', from, to)
    }
    return { kind: 'all', of }
  }

  function condition(depth: number): Filter {
    const token = next()
    if (token === undefined || token.kind === ')' || token.kind === 'or' || token.kind === 'and') {
      const { from, to } = token ?? (tokens.at(-1) as Token)
      throw new FilterError('A condition is missing here.', from, to)
    }
    if (depth > deepest) throw new FilterError('This is nested too deeply.', token.from, token.to)
    at++
    switch (token.kind) {
      case '-':
        return { kind: 'not', of: condition(depth + 1) }
      case '(':
        return group(token.from, () => anyOf(depth + 1))
      case 'words':
        return { kind: 'words', text: token.text }
      case 'field': {
        const { field, sign, value } = token
        if (value) return { kind: 'field', field, sign, value: value.text, isQuoted: value.isQuoted }
        // The closing parenthesis.
        at++
        return group(token.from, () => inField(anyOf(depth + 1), token))
      }
    }
  }

  function group(from: number, read: () => Filter): Filter {
    const filter = read()
    if (next()?.kind !== ')') throw new FilterError('A parenthesis is not closed.', from, text.length)
    at++
    return filter
  }

  const filter = anyOf(0)
  const left = next()
  if (left) throw new FilterError('This parenthesis was not opened.', left.from, left.to)
  return filter
}

/** `model:(a OR b)`: the words of the group are values of the field. */
function inField(filter: Filter, token: Token & { kind: 'field' }): Filter {
  switch (filter.kind) {
    case 'words':
      return { kind: 'field', field: token.field, sign: token.sign, value: filter.text, isQuoted: false }
    case 'not':
      return { kind: 'not', of: inField(filter.of, token) }
    case 'field':
      throw new FilterError(`${token.field}:(…) cannot contain another field.`, token.from, token.to)
    default:
      return { kind: filter.kind, of: filter.of.map((inner) => inField(inner, token)) }
  }
}

/** Writes a filter as text; parsing that text gives the same filter. */
export function writeFilter(filter: Filter): string {
  switch (filter.kind) {
    case 'all':
      return filter.of
        .map((inner) => (inner.kind === 'all' ? `(${writeFilter(inner)})` : written(inner)))
        .join(' ')
    case 'any':
      return filter.of
        .map((inner) => (inner.kind === 'any' ? `(${writeFilter(inner)})` : writeFilter(inner)))
        .join(' OR ')
    case 'not':
      return `-${filter.of.kind === 'all' ? `(${writeFilter(filter.of)})` : written(filter.of)}`
    case 'words':
      return isPlainWord(filter.text) ? filter.text : quotedText(filter.text)
    case 'field': {
      const { field, sign, value, isQuoted } = filter
      const isBare = !isQuoted && /^[^\s()"]+$/.test(value) && !(sign !== '=' && /^[=<>]/.test(value))
      return `${field}:${sign}${isBare ? value : quotedText(value)}`
    }
  }
}

const written = (filter: Filter) => (filter.kind === 'any' ? `(${writeFilter(filter)})` : writeFilter(filter))

const quotedText = (text: string) => `"${text.replace(/[\\"]/g, '\\$&')}"`

function isPlainWord(text: string): boolean {
  if (!/^[^\s()"-][^\s()"]*$/.test(text) || text === 'OR' || text === 'AND') return false
  fieldName.lastIndex = 0
  return !fieldName.test(text)
}
