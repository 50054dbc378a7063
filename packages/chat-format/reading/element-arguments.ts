import type { ElementArguments, TaggedValue, ValueType } from '../call-format.ts'
import type { OfferedTool } from '../offered-tool.ts'
import { absent, exactly, inSequence, type Matcher, short, space } from './literals.ts'
import type { PartCollector } from './part-collector.ts'
import type { PieceReader, Source } from './source.ts'
import { readTypedValue } from './typed-value.ts'
import { itemOf, propertyOf, typesOf } from './value-types.ts'

const maxDepth = 64
const maxKeyLength = 512

/** Whether the text of a value is plain or JSON, depending on the schema. */
const written = new Map<ValueType, TaggedValue['written']>([
  ['string', 'raw'],
  ['number', 'json'],
  ['boolean', 'json'],
  ['null', 'json'],
  ['object', 'json'],
  ['array', 'json'],
])

/** Whether a first element begins here, or what follows all of them. */
export function elementsBegin({ prefix }: ElementArguments, behind: Matcher): Matcher {
  const over = inSequence([space, behind])
  return (text, at) => {
    const found = tagAt(text, at, prefix)
    if (found === short) return short
    return typeof found === 'object' || over(text, at) !== absent ? at : absent
  }
}

/**
 * Reads arguments that are elements with nested elements. The closing tag of an element is the first one after its
 * value, whatever its name. False when the text ends before they do.
 */
export function* readElements(
  source: Source,
  collector: PartCollector,
  { prefix, item }: ElementArguments,
  { parameters }: OfferedTool,
): PieceReader<boolean> {
  const tree: Tree = { prefix, item, root: parameters, close: `${prefix}</` }
  return (yield* readHeld(source, collector, tree, members, parameters, 0)) !== 'over'
}

interface Tree {
  prefix: string
  close: string
  item: string
  root: unknown
}

interface Tag {
  name: string
  end: number
}

/** The opening tag here, after optional white space. */
function tagAt(text: string, at: number, prefix: string): Tag | typeof absent | typeof short {
  const from = inSequence([space, exactly(`${prefix}<`)])(text, at)
  if (from < 0) return from === short ? short : absent
  const end = text.indexOf('>', from)
  if (text[from] === '/' || end === from) return absent
  if (end === -1) return text.length - from > maxKeyLength ? absent : short
  return { name: text.slice(from, end), end: end + 1 }
}

type Outcome = 'read' | 'over'

/** How the elements of an object or a list become JSON. */
interface Holder {
  open: string
  close: string
  /** Written before the value of an element. */
  key(tag: string): string
  schemaOf(schema: unknown, tag: string, root: unknown): unknown
}

const members: Holder = {
  open: '{',
  close: '}',
  key: (tag) => `${JSON.stringify(tag)}: `,
  schemaOf: propertyOf,
}

const items: Holder = {
  open: '[',
  close: ']',
  key: () => '',
  schemaOf: (schema, _tag, root) => itemOf(schema, root),
}

/** Reads members of an object or items of a list, up to the first other text. */
function* readHeld(
  source: Source,
  collector: PartCollector,
  tree: Tree,
  holder: Holder,
  schema: unknown,
  depth: number,
): PieceReader<Outcome> {
  for (let before = holder.open; ; ) {
    const tag = tagAt(source.text, source.at, tree.prefix)
    if (typeof tag === 'object') {
      source.at = tag.end
      collector.arguments(before + holder.key(tag.name))
      before = ', '
      const held = holder.schemaOf(schema, tag.name, tree.root)
      if ((yield* readElement(source, collector, tree, held, depth)) === 'over') return 'over'
    } else if (tag === absent) {
      collector.arguments(before === holder.open ? holder.open + holder.close : holder.close)
      return 'read'
    } else {
      if (source.isOver) return 'over'
      yield
    }
  }
}

/** Reads the content of an element and its closing tag. Only a value that may be an object or a list contains elements. */
function* readElement(
  source: Source,
  collector: PartCollector,
  tree: Tree,
  schema: unknown,
  depth: number,
): PieceReader<Outcome> {
  const types = typesOf(schema, tree.root)
  const isTree = (types.has('object') || types.has('array')) && depth < maxDepth
  for (;;) {
    const { text, at, isOver } = source
    const inner = isTree ? tagAt(text, at, tree.prefix) : absent
    const end = types.has('string') ? absent : exactly(tree.close)(text, at)
    if ((inner === short || end === short) && !isOver) {
      yield
      continue
    }
    if (end >= 0) {
      source.at = end
      collector.arguments(types.has('object') ? '{}' : types.has('array') ? '[]' : 'null')
      return yield* readName(source)
    }
    if (typeof inner !== 'object') break
    const isList = inner.name === tree.item && (types.has('array') || !types.has('object'))
    const read = yield* readHeld(source, collector, tree, isList ? items : members, schema, depth + 1)
    return read === 'over' ? 'over' : yield* readClosing(source, tree.close)
  }
  const isWhole = yield* readTypedValue(source, collector, {
    of: written,
    types,
    after: tree.close,
    ends: [],
  })
  return isWhole ? yield* readName(source) : 'over'
}

function* readClosing(source: Source, close: string): PieceReader<Outcome> {
  const closing = inSequence([space, exactly(close)])
  for (;;) {
    const end = closing(source.text, source.at)
    if (end >= 0) {
      source.at = end
      return yield* readName(source)
    }
    if (end !== short) return 'read'
    if (source.isOver) return 'over'
    yield
  }
}

/** The rest of a closing tag. */
function* readName(source: Source): PieceReader<Outcome> {
  for (;;) {
    const { text, at } = source
    const end = text.indexOf('>', at)
    if (end !== -1 && end - at <= maxKeyLength) {
      source.at = end + 1
      return 'read'
    }
    if (end !== -1 || text.length - at > maxKeyLength) return 'read'
    if (source.isOver) return 'over'
    yield
  }
}
