import { seededRandom } from '../seeded-random.ts'

/** A schema as programs write it, the same in the terms of draft 2020-12, and a value that fits. */
export interface WorldSchema {
  name: string
  schema: Record<string, unknown>
  twin: Record<string, unknown>
  value: unknown
}

interface Part {
  schema: Record<string, unknown>
  twin: Record<string, unknown>
  value: unknown
}

type Style = 'old drafts' | 'labels everywhere' | 'classes' | 'tools' | 'validators' | 'interfaces'

const styles: readonly Style[] = [
  'old drafts',
  'labels everywhere',
  'classes',
  'tools',
  'validators',
  'interfaces',
]
const words = [
  'name',
  'count',
  'items',
  'id',
  'type',
  'format',
  'owner',
  'tags',
  'default',
  'note',
  'required',
  'links',
]

/** The same for the same seed: equally many of each style. */
export function worldSchemas(count: number, seed: number): WorldSchema[] {
  const random = seededRandom(seed)
  const below = (most: number) => Math.floor(most * random())
  const pick = <T>(all: readonly T[]): T => all[below(all.length)] as T

  function leaf(style: Style): Part {
    const same = (schema: Record<string, unknown>, value: unknown): Part => ({ schema, twin: schema, value })
    switch (below(9)) {
      case 0: {
        const minimum = below(9)
        const isOld = style === 'old drafts'
        const bound = isOld ? { minimum, exclusiveMinimum: true } : { exclusiveMinimum: minimum }
        return {
          schema: { type: 'integer', ...bound },
          twin: { type: 'integer', exclusiveMinimum: minimum },
          value: minimum + 1,
        }
      }
      case 1:
        return same({ type: 'string', enum: ['low', 'high', 'none'] }, 'high')
      case 2:
        return same({ type: 'string', format: pick(['moon-phase', 'password', 'text', 'html']) }, 'any text')
      case 3:
        return same({ type: 'string', pattern: '^[a-z]{2,5}$' }, 'abc')
      case 4:
        return same({ type: 'number', multipleOf: 0.5, maximum: 100 }, 2.5)
      case 5:
        return style === 'interfaces'
          ? { schema: { type: 'string', nullable: true }, twin: { type: ['string', 'null'] }, value: null }
          : same({ anyOf: [{ type: 'string', minLength: 1 }, { type: 'null' }] }, null)
      case 6:
        return same({ type: 'string', maxLength: 20 }, '12 characters')
      case 7:
        return same({ type: ['boolean', 'null'], default: null }, true)
      default:
        return same({ type: 'string', const: 'fixed' }, 'fixed')
    }
  }

  function list(style: Style, depth: number): Part {
    const item = part(style, depth - 1)
    if (style === 'old drafts' && below(2) === 0) {
      const other = leaf(style)
      return {
        schema: { type: 'array', items: [item.schema, other.schema], additionalItems: false },
        twin: { type: 'array', prefixItems: [item.twin, other.twin], items: false },
        value: [item.value, other.value],
      }
    }
    return {
      schema: { type: 'array', items: item.schema, minItems: 1, maxItems: 4 },
      twin: { type: 'array', items: item.twin, minItems: 1, maxItems: 4 },
      value: [item.value, item.value],
    }
  }

  function object(style: Style, depth: number): Part {
    const names = words.filter(() => below(3) === 0)
    if (names.length === 0) names.push('name')
    const members = names.map((name) => ({ name, isNeeded: below(2) === 0, ...part(style, depth - 1) }))
    // Draft 3 has no other way to say it.
    const saysItself =
      style === 'old drafts' && !members.some(({ schema }) => 'required' in schema) && below(2) === 0
    const needed = members.filter(({ isNeeded }) => isNeeded).map(({ name }) => name)
    const required = needed.length > 0 ? { required: needed } : {}
    const closed = style === 'validators' ? { additionalProperties: false } : {}
    const by = (which: 'schema' | 'twin') => Object.fromEntries(members.map((one) => [one.name, one[which]]))
    const own = Object.fromEntries(
      members.map(({ name, isNeeded, schema }) => [
        name,
        saysItself ? { ...schema, required: isNeeded } : schema,
      ]),
    )
    return {
      schema: { type: 'object', properties: own, ...(saysItself ? {} : required), ...closed },
      twin: { type: 'object', properties: by('twin'), ...required, ...closed },
      value: Object.fromEntries(
        members.filter(({ isNeeded }) => isNeeded || below(2) === 0).map(({ name, value }) => [name, value]),
      ),
    }
  }

  function part(style: Style, depth: number): Part {
    const kind = depth <= 0 ? 0 : below(4)
    const { schema, ...rest } =
      kind < 2 ? leaf(style) : kind === 2 ? list(style, depth) : object(style, depth)
    return { ...rest, schema: { ...labels(style), ...schema } }
  }

  function labels(style: Style): Record<string, unknown> {
    switch (style) {
      case 'labels everywhere':
        return pick([
          { javaType: 'org.example.Form', propertyOrder: 4 },
          { links: [{ rel: 'self', href: '{id}' }], readonly: true },
          { _comment: ['said', 'twice'], '@context': { id: 1 }, 'ui:widget': 'textarea' },
          { markdownDescription: '*said*', enumDescriptions: [], version: 2 },
        ])
      case 'classes':
        return { title: 'A Class' }
      case 'interfaces':
        return { example: { id: 'x' }, xml: { name: 'x' } }
      case 'tools':
        return { description: 'What it is for, in one line.' }
      default:
        return {}
    }
  }

  function whole(style: Style, number: number): WorldSchema {
    const inner = object(style, 3)
    const name = `${style} ${number}`
    if (style === 'tools' || style === 'validators') {
      const head = style === 'validators' ? { $schema: 'http://json-schema.org/draft-07/schema#' } : {}
      return { name, schema: { ...head, ...inner.schema }, twin: inner.twin, value: inner.value }
    }
    const other = leaf(style)
    const [place, head]: [string, Record<string, unknown>] =
      style === 'old drafts'
        ? [
            'definitions',
            { $schema: 'http://json-schema.org/draft-04/schema#', id: 'http://example.org/form' },
          ]
        : style === 'interfaces'
          ? ['components', {}]
          : ['$defs', style === 'classes' ? {} : { id: 'a label', $comment: 'made by a program' }]
    const again = style === 'old drafts' && below(2) === 0 ? 'form#' : '#'
    const reference = { $ref: `${again}/${place}/Part` }
    const properties = { form: inner.schema, part: reference }
    return {
      name,
      schema: {
        ...head,
        type: 'object',
        properties,
        required: ['form', 'part'],
        [place]: { Part: other.schema },
      },
      twin: {
        type: 'object',
        properties: { form: inner.twin, part: other.twin },
        required: ['form', 'part'],
      },
      value: { form: inner.value, part: other.value },
    }
  }

  return Array.from({ length: count }, (_, i) => whole(styles[i % styles.length] as Style, i))
}

/** Values that differ in one part: a member left out or of another type, or an additional one. */
export function changed(value: unknown): unknown[] {
  const others: unknown[] = [null, 0, 7.25, '', 'other', [], {}, true]
  if (Array.isArray(value)) {
    const inside = value.flatMap((item, i) => changed(item).map((one) => value.toSpliced(i, 1, one)))
    return [...others, [...value, ...value, ...value], ...inside]
  }
  if (typeof value !== 'object' || value === null) return others
  const entries = Object.entries(value)
  const without = entries.map((_, i) => Object.fromEntries(entries.toSpliced(i, 1)))
  const inside = entries.flatMap(([name, one]) => changed(one).map((other) => ({ ...value, [name]: other })))
  return [...others, ...without, { ...value, 'one more': 1 }, ...inside]
}
