/**
 * Reads JSON without making values of it, so that numbers keep the digits that they were sent with and a long text costs only
 * what is looked at. A node is a place in the text.
 */
export interface JsonNode {
  kind: 'object' | 'array' | 'string' | 'number' | 'boolean' | 'null'
  text: string
  start: number
  end: number
}

export interface JsonMember {
  /** Of an object; of an array its number. */
  name: string
  node: JsonNode
}

const spaces = /[\t\n\r ]*/y
const number = /-?\d[\d.eE+-]*/y

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

function skipped(text: string, at: number): number {
  spaces.lastIndex = at
  spaces.test(text)
  return spaces.lastIndex
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

function endOfString(text: string, at: number): number {
  let end = text.indexOf('"', at + 1)
  while (end !== -1 && isEscaped(text, end)) end = text.indexOf('"', end + 1)
  if (end === -1) throw new SyntaxError(`the text at ${at} does not end`)
  return end + 1
}

function isEscaped(text: string, at: number): boolean {
  let before = at - 1
  while (text[before] === '\\') before--
  return (at - before) % 2 === 0
}

/** Depth is counted and not nested, so that no text is too deep. */
function endOfContainer(text: string, at: number): number {
  const next = /["[\]{}]/g
  next.lastIndex = at
  let depth = 0
  for (let found = next.exec(text); found !== null; found = next.exec(text)) {
    const [mark] = found
    if (mark === '"') next.lastIndex = endOfString(text, found.index)
    else if (mark === '{' || mark === '[') depth++
    else if (--depth === 0) return next.lastIndex
  }
  throw new SyntaxError(`what begins at ${at} does not end`)
}

/** Each is read once: a screen looks for a dozen names in an object, and one of them may have a hundred thousand members. */
const known = new WeakMap<JsonNode, readonly JsonMember[]>()

/** The members of an object or array, one after the other; of anything else none. */
export function membersOf(node: JsonNode): readonly JsonMember[] {
  if (node.kind !== 'object' && node.kind !== 'array') return []
  let members = known.get(node)
  if (members === undefined) {
    members = [...readMembers(node)]
    known.set(node, members)
  }
  return members
}

function* readMembers({ kind, text, start }: JsonNode): Generator<JsonMember> {
  let at = skipped(text, start + 1)
  for (let index = 0; text[at] !== '}' && text[at] !== ']'; index++) {
    let name = String(index)
    if (kind === 'object') {
      const end = endOfString(text, at)
      name = JSON.parse(text.slice(at, end)) as string
      at = skipped(text, end) + 1
    }
    const node = jsonNode(text, at)
    yield { name, node }
    at = skipped(text, node.end)
    if (text[at] === ',') at = skipped(text, at + 1)
  }
}

/** What lies at the end of a path. */
export function nodeAt(node: JsonNode | undefined, ...path: readonly string[]): JsonNode | undefined {
  let found = node
  for (const name of path) {
    if (found === undefined) return undefined
    // Of two of the same name the last counts, as for JSON.parse.
    found = membersOf(found).findLast((member) => member.name === name)?.node
  }
  return found
}

export const sourceOf = ({ text, start, end }: JsonNode): string => text.slice(start, end)

/** The text that a string stands for; undefined for anything else. */
export function stringOf(node: JsonNode | undefined): string | undefined {
  return node?.kind === 'string' ? (JSON.parse(sourceOf(node)) as string) : undefined
}
