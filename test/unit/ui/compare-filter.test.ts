import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { filtersOf, filterText, parseFilter, type Term } from '../../../ui/screens/compare/filter-text.ts'

const term: fc.Arbitrary<Term> = fc.record(
  {
    field: fc
      .tuple(fc.constantFrom('scores', 'inputs', 'outputs', 'output'), fc.string({ minLength: 1 }))
      .map((parts) => parts.join('.')),
    by: fc.constantFrom<Term['by']>('=', '!=', '<', '<=', '>', '>=', '~'),
    value: fc.string(),
    evaluation: fc.constantFrom('e-1', 'e2'),
  },
  { requiredKeys: ['field', 'by', 'value'] },
)

test('any filter that is written is read back unchanged', () => {
  fc.assert(
    fc.property(fc.array(term, { maxLength: 4 }), (terms) => {
      const { terms: read, wrong } = parseFilter(filterText(terms))
      assert.equal(wrong, undefined)
      assert.deepEqual(
        read,
        terms.map((one) => ({ evaluation: undefined, ...one })),
      )
    }),
  )
})

test('text that cannot be read is reported and never silently dropped', () => {
  for (const text of ['x', 'calls.x=1', 'scores.a=', 'scores.a>=0.5 and more', 'scores.a="open']) {
    assert.notEqual(parseFilter(text).wrong, undefined, text)
  }
})

test('conditions on one run must hold for the same trial', () => {
  const { terms } = parseFilter('scores.a>=0.5@e1 scores.a<1@e1 inputs.q~"x y"')
  const field = (name: string) => ({ $getField: name })
  assert.deepEqual(filtersOf(terms), [
    {
      query: {
        $expr: {
          $and: [
            { $gte: [field('scores.a'), { $literal: 0.5 }] },
            { $lt: [field('scores.a'), { $literal: 1 }] },
          ],
        },
      },
      evaluation_call_id: 'e1',
    },
    {
      query: {
        $expr: {
          $and: [
            { $contains: { input: field('inputs.q'), substr: { $literal: 'x y' }, case_insensitive: true } },
          ],
        },
      },
    },
  ])
})
