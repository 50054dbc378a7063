import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { digestOfAnyJson, digestOfJson } from '../../src/domain/digests.ts'
import { canonicalJson } from '../../src/domain/json/canonical.ts'
import { canonicalPieces } from '../../src/domain/json/canonical-steps.ts'
import { type KeepPlan, parseKeeping } from '../../src/domain/json/keep.ts'
import { DepthError, Scan } from '../../src/domain/json/scan.ts'
import { readInPieces } from '../../src/domain/json/steps.ts'
import { compareText } from '../../src/domain/text.ts'
import { parseInSteps } from '../support/shapes.ts'

const never = () => undefined

/** Objects as texts, so that keys come in any order and twice, and numbers and spaces as nobody writes them. */
const scalar = fc.oneof(
  fc.constantFrom(
    'null',
    'true',
    '1.0',
    '1e400',
    '-0',
    '-0.0',
    '12345678901234567890',
    '0.00001',
    '"\\u00e9\\ud83d"',
  ),
  fc.string({ unit: 'binary', maxLength: 12 }).map((text) => JSON.stringify(text)),
)
const key = fc.oneof(
  fc.constantFrom('"a"', '"\\u0061"', '"__proto__"', '"10"', '"9"', '"\\uff5e"', '"😀"'),
  fc.string({ unit: 'binary', maxLength: 4 }).map((text) => JSON.stringify(text)),
)
const space = fc.constantFrom('', '', ' ', '\n\t')
const { json } = fc.letrec<{ json: string }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    scalar,
    fc
      .tuple(fc.array(tie('json'), { maxLength: 6 }), space)
      .map(([items, s]) => `[${s}${items.join(`${s},${s}`)}${s}]`),
    fc
      .tuple(fc.array(fc.tuple(key, tie('json')), { maxLength: 6 }), space)
      .map(
        ([members, s]) =>
          `{${s}${members.map(([name, value]) => `${name}${s}:${s}${value}`).join(`${s},${s}`)}${s}}`,
      ),
  ),
}))

test('the canonical text of a value is the same in pieces of any size', async () => {
  await fc.assert(
    fc.asyncProperty(json, fc.integer({ min: 1, max: 40 }), async (text, size) => {
      assert.equal((await canonicalPieces(text, never, size)).join(''), canonicalJson(text))
    }),
    { numRuns: 1000 },
  )
})

test('what JSON.parse refuses is refused in pieces of any size', async () => {
  const broken = fc
    .tuple(
      json,
      fc.nat(),
      fc.constantFrom('', ',', ']', '}', '{', '[', ':', '"', '1', 'x', ' '),
      fc.boolean(),
    )
    .map(([text, at, put, instead]) => {
      const place = at % (text.length + 1)
      return text.slice(0, place) + put + text.slice(place + (instead ? 1 : 0))
    })
  await fc.assert(
    fc.asyncProperty(broken, fc.integer({ min: 1, max: 40 }), async (text, size) => {
      const reader = {
        value: (piece: string) => void JSON.parse(piece),
        open: (isObject: boolean) => void holders.push(isObject),
        run: (piece: string) => void JSON.parse(holders.at(-1) ? `{${piece}}` : `[${piece}]`),
        large: never,
        close: () => void holders.pop(),
      }
      const holders: boolean[] = []
      const scan = new Scan(text)
      const read = async () => {
        const end = await readInPieces(scan, scan.space(0), 1, reader, never, size)
        if (scan.space(end) < text.length) throw new SyntaxError('there is more')
      }
      if (isJson(text)) await read()
      else await assert.rejects(read, SyntaxError)
    }),
    { numRuns: 2000 },
  )
})

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}

const row = '{ "n" : 1.50, "l\\u0069st" : [ 1e5 , -0 ] }'
const rows = `[ ${Array(5000).fill(row).join(' , ')} ]`
const large = [
  rows,
  `{"x": ${rows}, "a": [[${rows}]], "text": "${'é\\n'.repeat(50_000)}", "\\u0061": 1}`,
  `{${Array.from({ length: 20_000 }, (_, n) => `"${(n * 7919) % 20_011}${n % 3 ? '' : '\uff5e😀'}": ${n}`).join()}}`,
  `"${'\\ud83d\\ude00x'.repeat(50_000)}"`,
  '9'.repeat(200_000),
]

test('the digest of a large value is that of its canonical text, and others get their turn meanwhile', async () => {
  for (const text of large) {
    let breaths = 0
    const digest = await digestOfAnyJson(text, () => {
      breaths++
      return undefined
    })
    assert.equal(digest, digestOfJson(text))
    assert.ok(breaths > 0)
  }
})

test('a large value that is kept is the text that was sent without its spaces, read in pieces', async () => {
  const plan: KeepPlan = { fields: new Map([['obj', { fields: new Map([['val', 'keep' as const]]) }]]) }
  for (const text of large) {
    const body = `{"obj": {"name": "x", "val": ${text}, "n": 1}}`
    let breaths = 0
    const read = await parseInSteps(body, plan, 200, () => {
      breaths++
      return undefined
    })
    assert.deepEqual(read, parseKeeping(body, plan, 200))
    if (text.startsWith('[') || text.startsWith('{')) assert.ok(breaths > 10)
    for (const wrong of [
      text.slice(0, -1),
      `${text}]`,
      text.replace('1e5 ,', '1e5'),
      text.replace(': 1', '= 1'),
    ]) {
      if (wrong === text) continue
      const reading = parseInSteps(body.replace(text, wrong), plan, 200, never)
      if (isJson(wrong)) await reading
      else await assert.rejects(reading, SyntaxError)
    }
  }
  const deep = `{"obj":{"val":${'['.repeat(199)}${rows}${']'.repeat(199)}}}`
  await assert.rejects(parseInSteps(deep, plan, 200, never), DepthError)
})

test('texts are ordered by code point, halves of pairs too', () => {
  const points = (text: string) => [...text].map((one) => one.codePointAt(0) as number)
  fc.assert(
    fc.property(
      fc.string({
        unit: fc.constantFrom('a', '\ud83d', '\ude00', '\ude01', '\ue000', '\uffff', '😀'),
        maxLength: 4,
      }),
      fc.string({
        unit: fc.constantFrom('a', '\ud83d', '\ude00', '\ude01', '\ue000', '\uffff', '😀'),
        maxLength: 4,
      }),
      (left, right) => {
        const [l, r] = [points(left), points(right)]
        const at = l.findIndex((point, i) => point !== r[i])
        const expected = at === -1 ? l.length - r.length : (l[at] as number) - (r[at] ?? -1)
        assert.equal(Math.sign(compareText(left, right)), Math.sign(expected))
      },
    ),
    { numRuns: 3000 },
  )
})
