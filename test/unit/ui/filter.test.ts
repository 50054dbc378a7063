import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import {
  described,
  type Filter,
  filterOf,
  queryOf,
  readFilter,
  type Sign,
  writeFilter,
} from '../../../packages/filter/index.ts'
import { parseExpression } from '../../../src/domain/expressions/parse.ts'

const get = (name: string) => ({ $getField: name })
const is = (operator: string, name: string, literal: unknown) => ({
  [operator]: [get(name), { $literal: literal }],
})
const has = (name: string, text: string) => ({
  $contains: { input: get(name), substr: { $literal: text }, case_insensitive: true },
})
const judge = 'feedback.[wandb.runnable.judge].payload.output'

for (const [text, query] of [
  ['', undefined],
  ['status:error', is('$eq', 'summary.weave.status', 'error')],
  ['latency:>2s', is('$gt', 'summary.weave.latency_ms', 2000)],
  ['latency:<=300ms', is('$lte', 'summary.weave.latency_ms', 300)],
  ['cost:>0.01', is('$gt', 'cost', 0.01)],
  ['cost:<$2', is('$lt', 'cost', 2)],
  ['op:foo', has('op_name', 'foo')],
  ['op:="heddle.chat.completions"', is('$eq', 'op_name', 'heddle.chat.completions')],
  ['-op:foo', { $not: [has('op_name', 'foo')] }],
  ['scores.judge:>0.8', { $or: [is('$gt', judge, 0.8), is('$gt', `${judge}.score`, 0.8)] }],
  ['scores.judge.passed:true', is('$eq', `${judge}.passed`, true)],
  ['inputs.question:"refund"', has('inputs.question', 'refund')],
  ['inputs.k:5', is('$eq', 'inputs.k', 5)],
  ['inputs.k:="5"', is('$eq', 'inputs.k', '5')],
  ['inputs.big:9007199254740993', is('$eq', 'inputs.big', '9007199254740993')],
  ['attributes.app\\.version:null', is('$eq', 'attributes.app\\.version', null)],
  ['refund', { $or: [has('inputs', 'refund'), has('output', 'refund')] }],
  ['"a b" c', { $and: ['a b', 'c'].map((one) => ({ $or: [has('inputs', one), has('output', one)] })) }],
  ['model:(a OR b)', { $or: [is('$eq', 'model', 'a'), is('$eq', 'model', 'b')] }],
  [
    'status:error (op:a OR op:b) -user:me',
    {
      $and: [
        is('$eq', 'summary.weave.status', 'error'),
        { $or: [has('op_name', 'a'), has('op_name', 'b')] },
        { $not: [is('$eq', 'svc_user_id', 'me')] },
      ],
    },
  ],
  ['feedback:note', { $convert: { input: get('feedback.[wandb.note.1].payload'), to: 'exists' } }],
  [
    'feedback:scores.judge',
    { $convert: { input: get('feedback.[wandb.runnable.judge].payload'), to: 'exists' } },
  ],
  ['feedback:"my type"', { $convert: { input: get('feedback.[my type].payload'), to: 'exists' } }],
  ['-has:feedback', { $not: [{ $convert: { input: get('feedback.[*].payload'), to: 'exists' } }] }],
  ['reaction:👎', is('$eq', 'feedback.[wandb.reaction.1].payload.emoji', '👎')],
  ['has:exception', { $convert: { input: get('exception'), to: 'exists' } }],
  ['started:>=2026-01-31T12:00:00.123456Z', is('$gte', 'started_at', '2026-01-31T12:00:00.123456Z')],
] as const) {
  test(`${text || 'an empty filter'} gives its query, also when it is written and read again`, () => {
    const filter = readFilter(text)
    assert.deepEqual(queryOf(filter), query)
    assert.deepEqual(queryOf(readFilter(writeFilter(filter))), query)
  })
}

test('an age is counted back from now', () => {
  const now = Date.UTC(2026, 0, 2, 3)
  assert.deepEqual(queryOf(readFilter('age:<1h'), now), is('$gt', 'started_at', '2026-01-02T02:00:00.000Z'))
})

for (const [text, message] of [
  ['status:broken', /broken is not a status: success, error, running, descendant_error/],
  ['latency:>fast', /fast is not a duration: 300ms/],
  ['latency:2', /2 is not a duration/],
  ['colour:red', /Unknown field colour\. The fields are status, op/],
  ['http://x', /Unknown field http/],
  ['op:', /op needs a value/],
  ['"open', /quotation mark is not closed/],
  ['inputs.x:"open', /quotation mark is not closed/],
  ['(a OR b', /parenthesis is not closed/],
  ['a)', /was not opened/],
  ['a OR', /condition is missing/],
  ['OR a', /condition is missing/],
  ['()', /condition is missing/],
  ['AND a', /AND goes between/],
  ['model:(op:a)', /model:\(…\) cannot contain another field/],
  ['feedback:>note', /feedback takes a kind/],
  ['age:1h', /age needs < or >/],
  ['inputs.x:>9007199254740993', /too many digits/],
  ['('.repeat(100), /too deep/],
] as const) {
  test(`${text.slice(0, 30)} is refused with the reason`, () => {
    assert.throws(() => queryOf(readFilter(text)), message)
  })
}

const word = fc.string({ minLength: 1, maxLength: 12, unit: 'binary' })
const sign = fc.constantFrom<Sign>('', '=', '>', '>=', '<', '<=')
const field = fc.constantFrom('inputs.a', 'output.b\\.c', 'op', 'scores.judge', 'attributes.x-y', 'has')
const { filter } = fc.letrec<{ filter: Filter }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4, depthIdentifier: 'filter' },
    word.map((text) => ({ kind: 'words' as const, text })),
    fc.tuple(field, sign, word, fc.boolean()).map(([name, by, value, isQuoted]) => ({
      kind: 'field' as const,
      field: name,
      sign: by,
      value,
      isQuoted,
    })),
    tie('filter').map((of) => ({ kind: 'not' as const, of })),
    fc
      .tuple(
        fc.constantFrom('all' as const, 'any' as const),
        fc.array(tie('filter'), { minLength: 2, maxLength: 4 }),
      )
      .map(([kind, of]) => ({ kind, of })),
  ),
}))

/** The filter without the information whether values were quoted: unneeded quotes are not written again. */
const unquoted = (given: Filter): Filter => {
  if (given.kind === 'field') return { ...given, isQuoted: false }
  if (given.kind === 'not') return { ...given, of: unquoted(given.of) }
  if (given.kind === 'words') return given
  return { ...given, of: given.of.map(unquoted) }
}

test('a filter that is written is read back unchanged', () => {
  fc.assert(
    fc.property(filter, (given) => {
      assert.deepEqual(unquoted(readFilter(writeFilter(given))), unquoted(given))
    }),
  )
})

test('any text is read as a filter or refused with a position', () => {
  fc.assert(
    fc.property(fc.string({ unit: 'binary' }), (text) => {
      let found: Filter
      try {
        found = readFilter(text)
      } catch (error) {
        const { from, to } = error as { from: number; to: number }
        assert.ok(from >= 0 && from <= to && to <= text.length, `${from} ${to}`)
        return
      }
      assert.deepEqual(unquoted(readFilter(writeFilter(found))), unquoted(found))
    }),
  )
})

test('the record knows every field of the search bar', () => {
  for (const { field: name, kind } of described) {
    const value = {
      ...{ status: 'error', duration: '1s', size: '1kB', number: '500', cost: '0.01' },
      ...{ time: '2026-01-01', age: '1h' },
    }[kind as 'status']
    const query = queryOf(readFilter(`${name}:${kind === 'age' ? '<' : ''}${value ?? 'x'}`))
    assert.ok(parseExpression({ $expr: query } as never))
  }
})

for (const text of [
  'status:error',
  'op:heddle.chat latency:>2s',
  'op:="exact name"',
  'op:=answer:*',
  'size:>=20kb cost:<0.01',
  'first_token:>1.5s',
  'started:>2026-01-31T12:00:00Z',
  '-status:error (refund OR "my order")',
  'model:(a OR b)',
  'inputs.ticket:7 inputs.name:="7" output.ok:true inputs.user:null',
  'inputs.q:"two words"',
  'scores.my\\.judge:>0.8 scores.judge.reason:vague',
  'annotation.correct:true note:wrong reaction:👍',
  'has:exception feedback:note has:scores.judge',
])
  test(`a stored query is shown as it was typed: ${text}`, () => {
    const query = queryOf(readFilter(text))
    const wording = writeFilter(filterOf(JSON.parse(JSON.stringify(query))) as Filter)
    assert.deepEqual(queryOf(readFilter(wording)), query)
    assert.equal(wording, queryText(text))
  })

/** Without the short form of alternatives of one field. */
const queryText = (text: string) => writeFilter(readFilter(text))

test('a query that the filter bar cannot express has no wording', () => {
  for (const query of [
    { $gt: [{ $convert: { input: get('inputs.n'), to: 'double' } }, { $literal: 2 }] },
    { $eq: [get('inputs.a'), get('output')] },
    { $eq: [get('inputs.two words'), { $literal: 1 }] },
    { $in: [get('op_name'), [{ $literal: 'a' }]] },
    { $and: [] },
    { $and: [is('$eq', 'op_name', 'a'), { $in: [get('op_name'), [{ $literal: 'a' }]] }] },
    { $contains: { input: get('op_name'), substr: { $literal: 'A' }, case_insensitive: false } },
    null,
    'text',
  ])
    assert.equal(filterOf(query), undefined, JSON.stringify(query))
})

test('the wording of a query means the query', () => {
  fc.assert(
    fc.property(filter, (written) => {
      let query: ReturnType<typeof queryOf>
      try {
        query = queryOf(written, 0)
      } catch {
        return
      }
      const found = query && filterOf(query)
      if (found) assert.deepEqual(queryOf(readFilter(writeFilter(found)), 0), query)
    }),
  )
})
