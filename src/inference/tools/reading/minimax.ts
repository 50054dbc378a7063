import type { TaggedValue, ValueType } from '../call-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import { type CallReader, callReader } from './call-reader.ts'
import { absent, exactly, inSequence, type Matcher, short, space } from './literals.ts'
import type { Said } from './said.ts'
import type { Reading, Source } from './source.ts'
import { readTypedValue } from './typed-value.ts'
import { itemOf, propertyOf, typesOf } from './value-types.ts'

const mostDepth = 64
const mostOfKey = 512

/** Of a text or of JSON, as the schema has it. */
const written = new Map<ValueType, TaggedValue['written']>([
  ['string', 'raw'],
  ['number', 'json'],
  ['boolean', 'json'],
  ['null', 'json'],
  ['object', 'json'],
  ['array', 'json'],
])

/**
 * The calls of MiniMax-M3: arguments are elements, and what they hold are elements again, all with a token of their own before
 * the tag. Items of a list are elements named item.
 */
export function minimaxReader(
  marks: Readonly<Record<string, string>>,
  tools: readonly OfferedTool[],
  isParallel: boolean,
): CallReader {
  const prefix = marks[']<]minimax[>['] ?? ']<]minimax[>['
  const literals = {
    open: [`${prefix}<tool_call>\n${prefix}<invoke name="`],
    mid: ['">'],
    gap: [`${prefix}</invoke>\n${prefix}<invoke name="`],
    close: [`${prefix}</invoke>\n${prefix}</tool_call>`],
    isAnchored: false,
  }
  return callReader(literals, tools, {
    isParallel,
    isJson: false,
    argumentsOf: (behind) => ({
      begins: (text, at) => {
        const found = tagAt(text, at, prefix)
        if (found === short) return short
        return typeof found === 'object' ? at : inSequence([space, behind])(text, at) === absent ? absent : at
      },
      *read(source, said, { parameters }) {
        const read = yield* readMembers(source, said, { prefix, root: parameters }, parameters, 0)
        return read !== 'over'
      },
    }),
  })
}

interface Tree {
  prefix: string
  root: unknown
}

interface Tag {
  name: string
  end: number
}

/** An element begins here, but for white space. */
function tagAt(text: string, at: number, prefix: string): Tag | typeof absent | typeof short {
  const from = opens(prefix)(text, at)
  if (from < 0) return from === short ? short : absent
  const end = text.indexOf('>', from)
  if (text[from] === '/' || end === from) return absent
  if (end === -1) return text.length - from > mostOfKey ? absent : short
  return { name: text.slice(from, end), end: end + 1 }
}

function opens(prefix: string): Matcher {
  return inSequence([space, exactly(`${prefix}<`)])
}

/** Members of an object, up to what is none. */
function* readMembers(
  source: Source,
  said: Said,
  tree: Tree,
  schema: unknown,
  depth: number,
): Reading<'read' | 'over'> {
  for (let isFirst = true; ; ) {
    const tag = tagAt(source.text, source.at, tree.prefix)
    if (typeof tag === 'object') {
      source.at = tag.end
      said.arguments(`${isFirst ? '{' : ', '}${JSON.stringify(tag.name)}: `)
      isFirst = false
      const read = yield* readElement(
        source,
        said,
        tree,
        propertyOf(schema, tag.name, tree.root),
        tag.name,
        depth,
      )
      if (read === 'over') return 'over'
    } else if (tag === absent) {
      said.arguments(isFirst ? '{}' : '}')
      return 'read'
    } else {
      if (source.isOver) return 'over'
      yield
    }
  }
}

function* readItems(
  source: Source,
  said: Said,
  tree: Tree,
  schema: unknown,
  depth: number,
): Reading<'read' | 'over'> {
  said.arguments('[')
  for (let isFirst = true; ; ) {
    const tag = tagAt(source.text, source.at, tree.prefix)
    if (typeof tag === 'object') {
      source.at = tag.end
      if (!isFirst) said.arguments(', ')
      isFirst = false
      const read = yield* readElement(source, said, tree, itemOf(schema, tree.root), tag.name, depth)
      if (read === 'over') return 'over'
    } else if (tag === absent) {
      said.arguments(']')
      return 'read'
    } else {
      if (source.isOver) return 'over'
      yield
    }
  }
}

/** What an element holds, and its closing tag. */
function* readElement(
  source: Source,
  said: Said,
  tree: Tree,
  schema: unknown,
  name: string,
  depth: number,
): Reading<'read' | 'over'> {
  const types = typesOf(schema, tree.root)
  const after = `${tree.prefix}</${name}>`
  for (;;) {
    const { text, at, isOver } = source
    const inner = tagAt(text, at, tree.prefix)
    const end = exactly(after)(text, at)
    if ((inner === short || end === short) && !isOver) {
      yield
      continue
    }
    if (end >= 0 && !types.has('string')) {
      source.at = end
      said.arguments(types.has('object') ? '{}' : types.has('array') ? '[]' : 'null')
      return 'read'
    }
    if (typeof inner !== 'object' || depth === mostDepth) break
    const isList = inner.name === 'item' && (types.has('array') || !types.has('object'))
    const read = yield* (isList ? readItems : readMembers)(source, said, tree, schema, depth + 1)
    return read === 'over' ? 'over' : yield* readClosing(source, after)
  }
  const isWhole = yield* readTypedValue(source, said, { of: written, types, after, ends: [] })
  return isWhole ? 'read' : 'over'
}

function* readClosing(source: Source, after: string): Reading<'read' | 'over'> {
  const closing = inSequence([space, exactly(after)])
  for (;;) {
    const end = closing(source.text, source.at)
    if (end >= 0) source.at = end
    if (end !== short) return 'read'
    if (source.isOver) return 'over'
    yield
  }
}
