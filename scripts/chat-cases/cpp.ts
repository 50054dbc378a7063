/** Just enough of C++ to read calls with literal arguments out of a test file. */
export type Value =
  | { kind: 'text'; text: string }
  | { kind: 'name'; name: string }
  | { kind: 'list'; items: Value[] }
  | { kind: 'call'; name: string; args: Value[] }

export interface Token {
  kind: 'text' | 'word' | 'mark'
  text: string
}

export function tokensOf(source: string): Token[] {
  const pattern =
    /\/\/[^\n]*|\/\*.*?\*\/|\s+|R"([^()\s\\]*)\((.*?)\)\1"|"((?:[^"\\]|\\.)*)"|'(?:[^'\\]|\\.)+'|([\w:]+)|(.)/gs
  const tokens: Token[] = []
  for (const [whole, , raw, text, word, mark] of source.matchAll(pattern)) {
    if (raw !== undefined && whole.startsWith('R"')) tokens.push({ kind: 'text', text: raw })
    else if (text !== undefined) tokens.push({ kind: 'text', text: unescaped(text) })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word })
    else if (mark !== undefined) tokens.push({ kind: 'mark', text: mark })
  }
  return tokens
}

const escapes: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '0': '\0' }

function unescaped(text: string): string {
  return text.replace(/\\(u[\da-f]{4}|x[\da-f]{2}|\r?\n|.)/gis, (_, sequence: string) => {
    if (/^[ux]./i.test(sequence) && sequence.length > 1)
      return String.fromCodePoint(Number.parseInt(sequence.slice(1), 16))
    return escapes[sequence] ?? (sequence === '\n' ? '' : sequence)
  })
}

/** Reads values from a position in the tokens on. */
export function createReader(tokens: readonly Token[], position: number) {
  let at = position
  const is = (text: string) => tokens[at]?.kind === 'mark' && tokens[at]?.text === text

  function list(end: string): Value[] {
    const items: Value[] = []
    at++
    while (!is(end)) {
      items.push(value())
      if (is(',')) at++
      else if (!is(end)) throw new Error(`expected the end of a list at ${tokens[at]?.text}`)
    }
    at++
    return items
  }

  function value(): Value {
    let found = single()
    while (is('+')) {
      at++
      const other = single()
      if (found.kind !== 'text' || other.kind !== 'text') throw new Error('only texts can be added')
      found = { kind: 'text', text: found.text + other.text }
    }
    return found
  }

  function single(): Value {
    const token = tokens[at]
    if (token?.kind === 'text') {
      let text = ''
      for (; tokens[at]?.kind === 'text'; at++) text += tokens[at]?.text
      return { kind: 'text', text }
    }
    if (is('{')) return { kind: 'list', items: list('}') }
    if (token?.kind !== 'word') throw new Error(`no value begins with ${token?.text}`)
    at++
    if (is('(')) return { kind: 'call', name: token.text, args: list(')') }
    if (is('{')) return { kind: 'list', items: list('}') }
    return { kind: 'name', name: token.text }
  }

  /** `.name(…).name(…)` */
  function chain(): { name: string; args: Value[] }[] {
    const links = []
    while (is('.')) {
      const name = tokens[at + 1]?.text ?? ''
      at += 2
      links.push({ name, args: list(')') })
    }
    return links
  }

  return { value, chain, list, at: () => at }
}
