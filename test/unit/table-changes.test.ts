import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { applyChanges, type Change } from '../../src/operations/tables/apply.ts'
import { refusedWith } from '../support/refusals.ts'

const digest = fc.string({ minLength: 1, maxLength: 3 })

/** A step that fits a list of any length: its place is taken from a share of it. */
const step = fc.oneof(
  fc.record({ kind: fc.constant('append' as const), digest, share: fc.constant(0) }),
  fc.record({
    kind: fc.constant('pop' as const),
    digest,
    share: fc.double({ min: 0, max: 0.999, noNaN: true }),
  }),
  fc.record({
    kind: fc.constant('insert' as const),
    digest,
    share: fc.double({ min: 0, max: 0.999, noNaN: true }),
  }),
)

test('changes of a table are those of a plain list', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.array(digest, { maxLength: 20 }),
      fc.array(step, { maxLength: 40 }),
      async (base, steps) => {
        let model: readonly string[] = base
        const touched: string[] = []
        const changes: Change[] = []
        for (const { kind, digest, share } of steps) {
          if (kind === 'append') {
            model = [...model, digest]
            touched.push(digest)
            changes.push({ append: digest })
          } else if (kind === 'insert') {
            const index = Math.floor(share * (model.length + 1))
            model = [...model.slice(0, index), digest, ...model.slice(index)]
            touched.push(digest)
            changes.push({ insert: { index, digest } })
          } else if (model.length > 0) {
            const index = Math.floor(share * model.length)
            touched.push(model[index] as string)
            model = [...model.slice(0, index), ...model.slice(index + 1)]
            changes.push({ pop: index })
          }
        }
        const order = [...base]
        assert.deepEqual(await applyChanges(order, changes), touched)
        assert.deepEqual(order, model)
      },
    ),
  )
})

test('a place outside of the list is refused', async () => {
  for (const change of [
    { pop: 2 },
    { pop: -1 },
    { insert: { index: 3, digest: 'x' } },
    { insert: { index: -1, digest: 'x' } },
  ] satisfies Change[]) {
    await assert.rejects(applyChanges(['a', 'b'], [change]), refusedWith('invalid_value'))
  }
})
