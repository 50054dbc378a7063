import { type Node, parse, type Token, tokenize } from './jinja.ts'

/**
 * The syntax tree of a template. The library's parser knows no tests with an argument, such as `is sameas true`: they
 * become filters with the names below, which no template can write.
 */
export function parsedTemplate(text: string): Node {
  return parse(withTestsAsFilters(tokenize(text, { lstrip_blocks: true, trim_blocks: true })))
}

const prefixes = { is: 'is ', isNot: 'is not ' }

/** The test that stands behind the name of a filter. */
export function testOfFilter(name: string): { test: string; isNegated: boolean } | undefined {
  if (name.startsWith(prefixes.isNot)) return { test: name.slice(prefixes.isNot.length), isNegated: true }
  return name.startsWith(prefixes.is) ? { test: name.slice(prefixes.is.length), isNegated: false } : undefined
}

/** Words that never begin an argument. `in` follows a test in `{% for x in y if x is odd in z %}` only. */
const keywords = new Set(['and', 'or', 'else', 'is', 'if', 'in', 'not', 'recursive'])
const closings: Readonly<Record<string, string>> = {
  OpenParen: 'CloseParen',
  OpenSquareBracket: 'CloseSquareBracket',
  OpenCurlyBracket: 'CloseCurlyBracket',
}
const literals = new Set(['StringLiteral', 'NumericLiteral'])

function withTestsAsFilters(tokens: Token[]): Token[] {
  const rewritten: Token[] = []
  for (let at = 0; at < tokens.length; ) {
    const isNegated = isWord(tokens[at + 1], 'not')
    const name = tokens[at + (isNegated ? 2 : 1)]
    const from = at + (isNegated ? 3 : 2)
    const to = isWord(tokens[at], 'is') && name?.type === 'Identifier' ? endOfArgument(tokens, from) : from
    if (to === from) {
      rewritten.push(tokens[at++] as Token)
      continue
    }
    const prefix = isNegated ? prefixes.isNot : prefixes.is
    rewritten.push({ type: 'Pipe', value: '|' }, { type: 'Identifier', value: `${prefix}${name?.value}` })
    const argument = withTestsAsFilters(tokens.slice(from, to))
    const isCall = argument[0]?.type === 'OpenParen' && endOfGroup(tokens, from) === to
    if (isCall) rewritten.push(...argument)
    else rewritten.push({ type: 'OpenParen', value: '(' }, ...argument, { type: 'CloseParen', value: ')' })
    at = to
  }
  return rewritten
}

const isWord = (token: Token | undefined, word: string) =>
  token?.type === 'Identifier' && token.value === word

/** An argument without parentheses is a name or a literal with what is read from it. */
function endOfArgument(tokens: Token[], from: number): number {
  const first = tokens[from]
  if (first === undefined) return from
  const isPlain = literals.has(first.type) || (first.type === 'Identifier' && !keywords.has(first.value))
  if (!isPlain && closings[first.type] === undefined) return from
  let end = isPlain ? from + 1 : endOfGroup(tokens, from)
  for (;;) {
    const next = tokens[end]?.type
    if (next === 'Dot') end += 2
    else if (next === 'OpenSquareBracket' || next === 'OpenParen') end = endOfGroup(tokens, end)
    else return end
  }
}

/** The end of a group in brackets; the end of the template if it is not closed, which the parser reports. */
function endOfGroup(tokens: Token[], from: number): number {
  let depth = 0
  for (let at = from; at < tokens.length; at++) {
    const { type } = tokens[at] as Token
    if (closings[type] !== undefined) depth++
    else if (Object.values(closings).includes(type) && --depth === 0) return at + 1
  }
  return tokens.length
}
