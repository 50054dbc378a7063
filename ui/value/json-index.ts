/**
 * Reads JSON without making values of it, so that numbers keep the digits that they were sent with and a long text costs only
 * what is looked at. A node is a range of the text.
 */
export interface JsonNode {
  kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'
  text: string
  start: number
  end: number
}

export interface JsonMember {
  /** The name in an object; the index in an array. */
  name: string
  node: JsonNode
}

const number = /-?\d[\d.eE+-]*/y

const [quote, backslash, comma] = [0x22, 0x5c, 0x2c]
const [openBracket, closeBracket, openBrace, closeBrace] = [0x5b, 0x5d, 0x7b, 0x7d]

export function jsonNode(text: string, start = 0): JsonNode {
  const at = skipped(text, start)
  return { kind: kindAt(text, at), text, start: at, end: endOf(text, at) }
}

function kindAt(text: string, at: number): JsonNode['kind'] {
  switch (text[at]) {
    case '{':
      return 'object'
    case '[':
      return 'array'
    case '"':
      return 'string'
    case 't':
    case 'f':
      return 'boolean'
    case 'n':
      return 'null'
    default:
      return 'number'
  }
}

/** Position after spaces, tabs and line ends. */
function skipped(text: string, start: number): number {
  let at = start
  for (let code = text.charCodeAt(at); code === 0x20 || (code >= 0x09 && code <= 0x0d); ) {
    code = text.charCodeAt(++at)
  }
  return at
}

function endOf(text: string, at: number): number {
  switch (text[at]) {
    case '{':
    case '[':
      return endOfContainer(text, at)
    case '"':
      return endOfString(text, at)
    case 't':
    case 'n':
      return at + 4
    case 'f':
      return at + 5
    default:
      number.lastIndex = at
      if (!number.test(text)) throw new SyntaxError(`no JSON at ${at}`)
      return number.lastIndex
  }
}

/** Most strings end soon; longer ones are searched with indexOf, which is faster once it has begun. */
const soon = 32

function endOfString(text: string, at: number): number {
  let end = at + 1
  for (const last = end + soon; end < last; end++) {
    const code = text.charCodeAt(end)
    if (code === quote) return end + 1
    if (code === backslash) end++
  }
  end = text.indexOf('"', end)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  if (end === -1) throw new SyntaxError(`the text at ${at} does not end`)
  return end + 1
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text.charCodeAt(before) === backslash) before--
  return (at - before) % 2 === 0
}

/** Counts the depth instead of recursing, so that no text is too deep. */
function endOfContainer(text: string, start: number): number {
  let depth = 0
  for (let at = start; at < text.length; at++) {
    const code = text.charCodeAt(at)
    if (code === quote) at = endOfString(text, at) - 1
    else if (code === openBrace || code === openBracket) depth++
    else if ((code === closeBrace || code === closeBracket) && --depth === 0) return at + 1
  }
  throw new SyntaxError(`what begins at ${start} does not end`)
}

/** Members are read once: a screen looks up a dozen names in an object, and some have a hundred thousand members. */
const known = new WeakMap<JsonNode, readonly JsonMember[]>()

/** The members of an object or array in order; of anything else none. */
export function membersOf(node: JsonNode): readonly JsonMember[] {
  if (node.kind !== 'object' && node.kind !== 'array') return []
  let members = known.get(node)
  if (members === undefined) {
    members = readMembers(node)
    known.set(node, members)
  }
  return members
}

function readMembers({ kind, text, start }: JsonNode): JsonMember[] {
  const members: JsonMember[] = []
  for (let at = skipped(text, start + 1); text[at] !== '}' && text[at] !== ']'; ) {
    let name = String(members.length)
    if (kind === 'object') {
      const end = endOfString(text, at)
      name = nameIn(text, at, end)
      at = skipped(text, end) + 1
    }
    const node = jsonNode(text, at)
    members.push({ name, node })
    at = skipped(text, node.end)
    if (text.charCodeAt(at) === comma) at = skipped(text, at + 1)
  }
  return members
}

function nameIn(text: string, start: number, end: number): string {
  const name = text.slice(start + 1, end - 1)
  return name.includes('\\') ? (JSON.parse(text.slice(start, end)) as string) : name
}

/** The node at the end of a path. */
export function nodeAt(node: JsonNode | undefined, ...path: readonly string[]): JsonNode | undefined {
  let found = node
  for (const name of path) {
    if (found === undefined) return undefined
    // Of two members with the same name the last counts, as in JSON.parse.
    found = membersOf(found).findLast((member) => member.name === name)?.node
  }
  return found
}

export const sourceOf = ({ text, start, end }: JsonNode): string => text.slice(start, end)

/** The value of a string; undefined for anything else. */
export function stringOf(node: JsonNode | undefined): string | undefined {
  return node?.kind === 'string' ? (JSON.parse(sourceOf(node)) as string) : undefined
}
