import fc from 'fast-check'
import { formOf, formType } from '../../support/forms.ts'
import type { Document, Operation, Schema } from '../../support/openapi.ts'
import { sampleBodies } from '../../support/sample-bodies.ts'
import { change, changed, hostileValue, jsonOf, markPlace } from './json-texts.ts'
import { valuesOf } from './schema-values.ts'

/** An operation of the OpenAPI document. */
export interface Target {
  method: string
  path: string
  operation: Operation
}

/** A request in which the placeholders of marks and known names are not filled in yet. */
export interface Attempt {
  target: Target
  url: string
  type: string | undefined
  body: string | undefined
  /** How the bytes are damaged on their way. */
  damage: Damage
}

type Damage =
  | { kind: 'none' | 'empty' | 'bom' | 'behind' }
  | { kind: 'cut' | 'nul' | 'utf8' | 'spaces'; at: number }

/** All operations except those that only stream: an injected request would wait for their end for ever. */
export function targetsOf({ paths }: Document): Target[] {
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations)
      .filter(([, { responses }]) => {
        const types = Object.keys(responses[200]?.content ?? {})
        return types.length === 0 || types.some((type) => type !== 'text/event-stream')
      })
      .map(([method, operation]) => ({ method: method.toUpperCase(), path, operation })),
  )
}

const damage: fc.Arbitrary<Damage> = fc.oneof(
  { arbitrary: fc.constant({ kind: 'none' as const }), weight: 14 },
  {
    arbitrary: fc.record({
      kind: fc.constantFrom('cut' as const, 'nul' as const, 'utf8' as const, 'spaces' as const),
      at: fc.double({ min: 0, max: 1, noNaN: true }),
    }),
    weight: 3,
  },
  {
    arbitrary: fc.constantFrom('empty' as const, 'bom' as const, 'behind' as const).map((kind) => ({ kind })),
    weight: 1,
  },
)

const jsonType = 'application/json'

const otherTypes = fc.constantFrom(
  ...[
    undefined,
    '',
    'text/plain',
    'application/json; charset=utf-16',
    'APPLICATION/JSON',
    'application/jsonp',
  ],
  ...[
    'multipart/form-data',
    'multipart/form-data; boundary=x',
    'application/x-protobuf',
    'a'.repeat(5_000),
    'é/ü',
  ],
)

/** A path or a query accepts any text, except those that URL parsers turn into a different path. */
const segment = (text: unknown) => {
  const plain = (typeof text === 'string' ? text : jsonOf(text)).toWellFormed()
  return /^\.{0,2}$/.test(plain) ? 'x' : encodeURIComponent(plain.slice(0, 3_000))
}

const hostileText = hostileValue.map((value) => (typeof value === 'string' ? value : jsonOf(value)))

/** Requests to one operation: most fit its schema, the others are changed somewhere. */
export function attemptsOn(target: Target): fc.Arbitrary<Attempt> {
  return fc
    .record({
      url: urlsOf(target),
      body: bodiesOf(target),
      damage,
      otherType: fc.oneof({ arbitrary: fc.constant(null), weight: 15 }, { arbitrary: otherTypes, weight: 1 }),
    })
    .map(({ url, body, damage, otherType }) => {
      const type = body === undefined ? undefined : otherType === null ? body.type : otherType
      const attempt = { target, url, type, body: body?.text, damage }
      return Object.assign(attempt, { [fc.toStringMethod]: () => shown(attempt) })
    })
}

export function shown({ target, url, type, body, damage }: Attempt): string {
  const text =
    body === undefined ? '' : ` ${body.length > 4_000 ? `${body.slice(0, 4_000)}… (${body.length})` : body}`
  const odd = [
    type !== jsonType && body !== undefined && `as ${type}`,
    damage.kind !== 'none' && jsonOf(damage),
  ]
  return [`${target.method} ${url}${text}`, ...odd.filter(Boolean)].join(' ')
}

function urlsOf({ path, operation }: Target): fc.Arbitrary<string> {
  const { parameters = [] } = operation
  const value = ({ name, schema }: { name: string; schema: Schema }) =>
    fc.oneof({ arbitrary: valuesOf(schema, name), weight: 9 }, { arbitrary: hostileText, weight: 1 })
  const values = fc.record(Object.fromEntries(parameters.map((one) => [one.name, value(one)])), {
    requiredKeys: parameters.filter((one) => one.in === 'path' || one.required).map(({ name }) => name),
    noNullPrototype: true,
  })
  return values.map((given) => {
    const filled = path.replace(/\{(\w+)\}/g, (_, name) => segment(given[name]))
    const query = parameters
      .filter((one) => one.in === 'query' && one.name in given)
      .flatMap(({ name }) => [given[name]].flat().map((one) => `${name}=${segment(one)}`))
    return query.length === 0 ? filled : `${filled}?${query.join('&')}`
  })
}

function bodiesOf({ path, operation }: Target): fc.Arbitrary<{ type: string; text: string } | undefined> {
  const content = operation.requestBody?.content as Record<string, { schema: Schema }> | undefined
  if (content === undefined) return fc.constantFrom(undefined, undefined, { type: jsonType, text: '{}' })
  const json = content[jsonType]
  if (json === undefined) return forms
  const sample = sampleBodies[path.replace(/\{(\w+)\}/g, ':$1')]
  const whole = valuesOf(json.schema)
  const base = sample ? fc.oneof({ arbitrary: whole, weight: 3 }, fc.constant(sample('acme/qa'))) : whole
  const changes = fc.oneof(
    { arbitrary: fc.constant([]), weight: 3 },
    { arbitrary: fc.array(change, { maxLength: 3 }), weight: 5 },
  )
  const outright = hostileValue.map((value) => ({ type: jsonType, text: jsonOf(value) }))
  const fitting = fc
    .tuple(base, changes)
    .map(([value, all]) => ({ type: jsonType, text: jsonOf(all.reduce(changed, value)) }))
  return fc.oneof({ arbitrary: fitting, weight: 15 }, { arbitrary: outright, weight: 1 })
}

const formParts = fc.array(
  fc.record(
    {
      name: fc.oneof(
        fc.constantFrom('project_id', 'file', 'expected_digest', 'unknown', ''),
        fc.string({ maxLength: 5 }),
      ),
      value: fc.oneof(
        fc.constantFrom('acme/qa', 'globex/qa', '', markPlace, 'x'.repeat(100_000)),
        hostileText,
      ),
      filename: fc.constantFrom('blob', '', '../x', 'a'.repeat(3_000)),
    },
    { requiredKeys: ['name', 'value'] },
  ),
  { maxLength: 4 },
)

const forms = fc
  .tuple(fc.boolean(), formParts)
  .map(([isWhole, parts]) =>
    isWhole
      ? [
          { name: 'project_id', value: 'acme/qa' },
          { name: 'file', value: markPlace, filename: 'blob' },
          ...parts,
        ]
      : parts,
  )
  .map((parts) => ({ type: formType, text: formOf(parts).toString('latin1') }))

/** The bytes that arrive. */
export function bytesOf(body: string, damage: Damage): Buffer {
  const whole = Buffer.from(body)
  const spliced = (at: number, bytes: Buffer) => {
    const position = Math.floor(at * whole.length)
    return Buffer.concat([whole.subarray(0, position), bytes, whole.subarray(position)])
  }
  switch (damage.kind) {
    case 'empty':
      return Buffer.alloc(0)
    case 'bom':
      return Buffer.concat([Buffer.from([0xef, 0xbb, 0xbf]), whole])
    case 'behind':
      return Buffer.concat([whole, Buffer.from('{}')])
    case 'cut':
      return whole.subarray(0, Math.floor(damage.at * whole.length))
    case 'nul':
      return spliced(damage.at, Buffer.alloc(1))
    case 'utf8':
      return spliced(damage.at, Buffer.from([0xc3, 0x28]))
    case 'spaces':
      // Long enough to be read as a large body.
      return Buffer.concat([whole, Buffer.alloc(Math.floor(damage.at * 300_000), ' ')])
    default:
      return whole
  }
}
