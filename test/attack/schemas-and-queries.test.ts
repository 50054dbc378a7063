import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openAppWithoutShedding } from '../support/app-without-shedding.ts'
import { project } from '../support/calls.ts'
import { createSpec, feedbackOf } from '../support/feedback.ts'
import { hostileQueries } from './hostile-queries.ts'

hostileQueries(async () => undefined)

const doubling = (levels: number) => ({
  $ref: '#/$defs/l0',
  $defs: Object.fromEntries(
    Array.from({ length: levels + 1 }, (_, n) => {
      const next = { $ref: `#/$defs/l${n + 1}` }
      return [`l${n}`, n === levels ? {} : { allOf: [next, next] }]
    }),
  ),
})

const chain = (levels: number) => ({
  $ref: '#/$defs/l0',
  $defs: Object.fromEntries(
    Array.from({ length: levels + 1 }, (_, n) => [
      `l${n}`,
      n === levels ? { type: 'number' } : { $ref: `#/$defs/l${n + 1}` },
    ]),
  ),
})

/** Each with what the server answers: at once, or when a value is checked. */
const schemas: Record<string, unknown> = {
  'a pattern that backtracks': { pattern: '^(a+)+$' },
  'a pattern that is none': { pattern: '(((' },
  'a name pattern that backtracks': { patternProperties: { '^(a+)+$': { type: 'number' } } },
  'branches that double': doubling(100),
  'a long chain': chain(900),
  'a ring': { $ref: '#/$defs/a', $defs: { a: { $ref: '#/$defs/b' }, b: { $ref: '#/$defs/a' } } },
  itself: { $ref: '#' },
  'a ring of anchors': { $dynamicRef: '#a', $dynamicAnchor: 'a' },
  'a schema of the network': { $ref: 'http://127.0.0.1:1/schema.json' },
  'a schema of the disk': { $ref: 'file:///etc/passwd' },
  'a name that is taken': { $id: 'http://json-schema.org/draft-07/schema#', type: 'number' },
  'a schema of its own kind': { $schema: 'file:///etc/passwd', type: 'number' },
  'code in a name': { properties: { '"];process.exit(1);//': { const: '`;process.exit(1);`' } } },
  'code in a keyword': { "';process.exit(1);'": true, type: 'number' },
  'names that JavaScript knows': JSON.parse(
    '{"properties":{"__proto__":{"type":"string"},"constructor":{}}}',
  ),
  'many members': { required: Array.from({ length: 5_000 }, (_, n) => `k${n}`) },
  'a list of combinations': { uniqueItems: true, items: { anyOf: Array(500).fill({ type: 'object' }) } },
}

const values: unknown[] = ['a'.repeat(5_000), { [`${'a'.repeat(100)}!`]: 1 }, Array(3_000).fill({}), 1]

test('a hostile schema blocks nobody, reads nothing and runs nothing', async (t) => {
  const { post, get } = await openAppWithoutShedding(t)
  for (const [what, field_schema] of Object.entries(schemas)) {
    const obj = {
      project_id: project,
      object_id: 'hostile',
      builtin_object_class: 'AnnotationSpec',
      val: { name: 'hostile', field_schema },
    }
    const made = await post('/obj/create', { obj })
    assert.ok(made.status === 200 || made.status === 422, `${what}: ${made.status} ${made.text}`)
    assert.ok(!made.text.includes('root:'), what)
    if (made.status !== 200) continue
    const annotation_ref = `weave:///${project}/object/hostile:${made.json.digest}`
    const value = values[Object.keys(schemas).indexOf(what) % values.length]
    const given = feedbackOf({
      feedback_type: 'wandb.annotation.hostile',
      annotation_ref,
      payload: { value },
    })
    const { status, text } = await post('/feedback/create', given)
    assert.ok(status === 200 || status === 400, `${what}: ${status} ${text}`)
    assert.ok(text.length < 20_000, `${what}: ${text.length} characters`)
  }
  assert.equal((await get('/health')).status, 200)
})

test('an endless check is refused, and the next one is answered', async (t) => {
  const { post } = await openAppWithoutShedding(t)
  const endless = await createSpec(post, 'endless', { pattern: '^(a+)+$' })
  const plain = await createSpec(post, 'plain', { type: 'number' })
  const annotate = (name: string, annotation_ref: string, value: unknown) =>
    post(
      '/feedback/create',
      feedbackOf({ feedback_type: `wandb.annotation.${name}`, annotation_ref, payload: { value } }),
    )
  const [refused, taken] = await Promise.all([
    annotate('endless', endless, `${'a'.repeat(100)}!`),
    annotate('plain', plain, 1),
  ])
  assert.deepEqual([refused.status, refused.json.code], [400, 'annotation_too_costly'])
  assert.equal(taken.status, 200, taken.text)
})
