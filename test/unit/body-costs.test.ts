import assert from 'node:assert/strict'
import { threadCpuUsage } from 'node:process'
import { test } from 'node:test'
import fc from 'fast-check'
import { z } from 'zod'
import { contractOf } from '../../src/body-contracts.ts'
import { Refusal } from '../../src/domain/refusals.ts'
import { readBody } from '../../src/http/read-body.ts'
import { parseOrRefuse } from '../../src/http/validation.ts'
import { routeTable } from '../../src/operations/generated/route-table.ts'
import { pack } from '../../src/threads/handover.ts'

/**
 * CPU time, so that other programs do not count. Far above what any shape takes (0.02 to 0.3 microseconds per byte), but a
 * value that is read again at every level exceeds it at once.
 */
const mostMicrosecondsPerByte = 2
const bytes = 512 * 1024

const filled = (unit: string) => unit.repeat(Math.ceil(bytes / unit.length))

/** JSON values of this length, each filled with one kind of content. */
const fillings: Record<string, string> = {
  'escaped quotes': `"${filled('\\"')}"`,
  backslashes: `"${filled('\\\\')}"`,
  'escapes of code points': `"${filled('\\u00e9')}"`,
  letters: `"${filled('x')}"`,
  'empty lists': `[${filled('[],')}[]]`,
  'empty objects': `[${filled('{},')}{}]`,
  numbers: `[${filled('1.50,')}1]`,
  'one long number': `${filled('9')}`,
  'one long fraction': `0.${filled('1')}e5`,
  texts: `[${filled('"x",')}"x"]`,
  keys: `{${Array.from({ length: bytes / 12 }, (_, n) => `"k${n}":1`).join()}}`,
  'one key again and again': `{${filled('"k":1,')}"k":1}`,
  'one long key': `{"${filled('\\"')}":1}`,
  spaces: `[1${filled(' ')}]`,
  'spaces between numbers': `[${filled('1 , ')}1]`,
}

const levels: Record<string, [open: string, close: string]> = {
  lists: ['[', ']'],
  objects: ['{"a":', '}'],
  'objects with a key of escapes': ['{"\\u0061\\"":', '}'],
  'objects in lists': ['[1,{"a":[],"b":', '}]'],
}

const shapes = fc.record({
  filling: fc.constantFrom(...Object.keys(fillings)),
  level: fc.constantFrom(...Object.keys(levels)),
  depth: fc.constantFrom(0, 1, 3, 90),
  ending: fc.constantFrom('', '', '', ',', '\\'),
})

function textOf({
  filling,
  level,
  depth,
  ending,
}: typeof shapes extends fc.Arbitrary<infer T> ? T : never): string {
  const [open, close] = levels[level] as [string, string]
  return `${open.repeat(depth)}${fillings[filling]}${ending}${close.repeat(depth)}`
}

/** The paths of a value in a body: every field that the contract knows, down to some levels, and an unknown one. */
function pathsIn(schema: z.ZodType, depth = 0): string[][] {
  if (depth > 3) return [[]]
  if (schema instanceof z.ZodObject) {
    const members = Object.entries(schema.shape as Record<string, z.ZodType>)
    const inner = members.flatMap(([name, member]) =>
      pathsIn(member, depth + 1).map((path) => [name, ...path]),
    )
    return [['unknown'], ...inner]
  }
  if (schema instanceof z.ZodArray)
    return [[], ...pathsIn(schema.element as z.ZodType, depth + 1).map((path) => ['', ...path])]
  if (schema instanceof z.ZodPipe)
    return pathsIn((schema.in instanceof z.ZodTransform ? schema.out : schema.in) as z.ZodType, depth)
  if (schema instanceof z.ZodNullable || schema instanceof z.ZodOptional)
    return pathsIn(schema.unwrap() as z.ZodType, depth)
  if (schema instanceof z.ZodUnion) return schema.options.flatMap((one) => pathsIn(one as z.ZodType, depth))
  return [[]]
}

function bodyWith(path: readonly string[], text: string): string {
  return path.reduceRight(
    (inner, name) => (name === '' ? `[${inner}]` : `{${JSON.stringify(name)}:${inner}}`),
    text,
  )
}

const names = Object.values(routeTable)
  .flat()
  .flatMap(({ config }) => ('contract' in config ? [config.contract] : []))
const others = [
  'http/page/contract#SignIn',
  'operations/mcp/contract#McpMessage',
  'operations/otel/traces-given#TracesGiven',
  'operations/otel/traces-given#LogsGiven',
]
const bodies = await Promise.all(
  [...new Set([...names, ...others])].map(async (name) => [name, await contractOf(name)] as const),
)

test('the contracts of request bodies are found', () => assert.ok(bodies.length > 50, String(bodies.length)))

for (const [name, contract] of bodies) {
  test(`${name}: reading a body takes time in proportion to its size, whatever its shape`, () => {
    const paths = pathsIn(contract)
    fc.assert(
      fc.property(fc.constantFrom(...paths), shapes, (path, shape) => {
        const body = Buffer.from(bodyWith(path, textOf(shape)))
        const before = threadCpuUsage()
        try {
          pack(parseOrRefuse(contract, readBody(body, contract), 'body'))
        } catch (error) {
          if (!(error instanceof Refusal)) throw error
        }
        const { user, system } = threadCpuUsage(before)
        const perByte = (user + system) / body.length
        assert.ok(
          perByte < mostMicrosecondsPerByte,
          `${perByte.toFixed(2)} microseconds for each of ${body.length} bytes`,
        )
      }),
      { numRuns: 4 },
    )
  })
}
