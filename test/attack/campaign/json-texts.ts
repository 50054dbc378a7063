import fc from 'fast-check'

/** A piece of JSON as it stands in the text, for what no JavaScript value can express: 1e999, half a surrogate pair. */
export class Raw {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

export function jsonOf(value: unknown): string {
  if (value instanceof Raw) return value.text
  if (Array.isArray(value)) return `[${value.map(jsonOf).join(',')}]`
  if (typeof value === 'object' && value !== null) {
    const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}:${jsonOf(member)}`)
    return `{${members.join(',')}}`
  }
  return JSON.stringify(value) ?? 'null'
}

const nested = (levels: number) => new Raw(`${'['.repeat(levels)}${']'.repeat(levels)}`)
const nestedObjects = (levels: number) => new Raw(`${'{"a":'.repeat(levels)}1${'}'.repeat(levels)}`)
const longText = (length: number) => new Raw(`"${'x'.repeat(length)}"`)

/** Placeholder for a text; each request replaces it by a mark of its own. */
export const markPlace = '@mark@'

/** Values that a client could send in place of anything. */
export const hostileValue: fc.Arbitrary<unknown> = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, '', ' ', [], {}, [[]], [null], [{}]),
  fc.constantFrom<unknown>(0, -1, 1, 1.5, 2 ** 31, 2 ** 32, 2 ** 53, -(2 ** 53), 1e308, 5e-324),
  fc
    .constantFrom(
      ...['1e999', '-1e999', '-0', '1.0', '9007199254740993', '18446744073709551616', '1e-999', '0e0'],
      ...['9'.repeat(400), `0.${'0'.repeat(400)}1`, '9223372036854775807', '-9223372036854775809'],
    )
    .map((text) => new Raw(text)),
  fc
    .constantFrom(
      ...[
        '"\\ud800"',
        '"\\udc00\\ud800"',
        '"\\u0000"',
        '"a\\u0000b"',
        '"\\u2028\\u202e"',
        '"\\ufeff"',
        '"\\/"',
      ],
      ...['{"a":1,"a":2}', '{"__proto__":{"a":1}}', '{"":{"":""}}', '{"constructor":{"prototype":{}}}'],
      ...['{"toString":1,"hasOwnProperty":null}', '{"\\ud800":1}', '{"\\u0000":1}'],
    )
    .map((text) => new Raw(text)),
  fc.constantFrom(
    '__proto__',
    'constructor',
    'NaN',
    'null',
    "'; DROP TABLE calls; --",
    '%s%n',
    '$1',
    '{{ 1 }}',
  ),
  fc.constantFrom(
    '../..',
    'weave:///',
    'weave:///a/b/object/',
    'acme/qa',
    'globex/qa',
    '*',
    'latest',
    'v0',
    'v99',
  ),
  fc.constantFrom('0000-01-01T00:00:00Z', '9999-12-31T23:59:59.999999Z', '2026-02-30T00:00:00Z', '1e10'),
  fc.constantFrom(nested(150), nested(250), nestedObjects(150), nestedObjects(250)),
  fc.constantFrom(longText(300), longText(5_000), longText(70_000)),
  fc.constantFrom<unknown>(
    Array(2_000).fill('x'),
    Array(2_000).fill({}),
    new Raw(`[${'1,'.repeat(9_999)}1]`),
  ),
  fc.constant({ $expr: { $eq: [{ $getField: 'id' }, { $literal: markPlace }] } }),
  fc.constant(markPlace),
  fc.jsonValue({ maxDepth: 3 }),
  fc.string({ unit: 'binary', maxLength: 20 }),
)

type Holder = Record<string | number, unknown>

/** The path of every part of a value, its own first. */
function placesOf(value: unknown, path: readonly (string | number)[] = []): (string | number)[][] {
  if (typeof value !== 'object' || value === null || value instanceof Raw) return [[...path]]
  const inner = Array.isArray(value) ? value.keys() : Object.keys(value)
  return [[...path], ...[...inner].flatMap((step) => placesOf((value as Holder)[step], [...path, step]))]
}

export interface Change {
  /** Which path, modulo their number. */
  at: number
  what: { kind: 'put' | 'add' | 'twice'; name: string; value: unknown } | { kind: 'drop' }
}

export const change: fc.Arbitrary<Change> = fc.record({
  at: fc.nat(200),
  what: fc.oneof(
    {
      arbitrary: fc.record({ kind: fc.constant('put' as const), name: fc.constant(''), value: hostileValue }),
      weight: 6,
    },
    { arbitrary: fc.constant({ kind: 'drop' as const }), weight: 2 },
    {
      arbitrary: fc.record({
        kind: fc.constantFrom('add' as const, 'twice' as const),
        name: fc.constantFrom('unknown', 'project_id', 'id', '__proto__', '', 'k'.repeat(70_000), '\u0000'),
        value: hostileValue,
      }),
      weight: 2,
    },
  ),
})

/** The value with one part changed. */
export function changed(value: unknown, { at, what }: Change): unknown {
  const places = placesOf(value)
  const path = places[at % places.length] ?? []
  if (path.length === 0 && what.kind === 'put' && at !== 0) return value
  return changedAt(value, path, what)
}

function changedAt(value: unknown, path: readonly (string | number)[], what: Change['what']): unknown {
  const [step, ...rest] = path
  if (step === undefined) return what.kind === 'put' ? what.value : grown(value, what)
  if (Array.isArray(value)) {
    const copy = [...value]
    if (rest.length === 0 && what.kind === 'drop') copy.splice(step as number, 1)
    else copy[step as number] = changedAt(value[step as number], rest, what)
    return copy
  }
  const { ...copy } = value as Holder
  if (rest.length === 0 && what.kind === 'drop') delete copy[step]
  else copy[step] = changedAt(copy[step], rest, what)
  return copy
}

function grown(value: unknown, what: Change['what']): unknown {
  if (what.kind === 'drop' || what.kind === 'put') return value
  if (Array.isArray(value)) return [...value, what.value]
  if (typeof value !== 'object' || value === null || value instanceof Raw) return value
  const text = jsonOf(value)
  const members = text.slice(1, -1)
  const name = what.kind === 'twice' ? (Object.keys(value)[0] ?? what.name) : what.name
  const added = `${JSON.stringify(name)}:${jsonOf(what.value)}`
  const both = what.kind === 'twice' ? [added, members] : [members, added]
  return new Raw(`{${both.filter(Boolean).join(',')}}`)
}
