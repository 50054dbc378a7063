import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { createYieldToLoop } from '../../packages/waiting/index.ts'
import { applyChanges, type Change, RowOrder } from '../../src/operations/tables/row-order.ts'
import { yieldAtEachStep } from '../support/event-loop.ts'
import { refusedWith } from '../support/refusals.ts'

const never = () => undefined

const digest = fc.string({ minLength: 1, maxLength: 3 })

/** A step that fits a list of any length: its index is a share of the length. */
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

test('changes of a table have the same result as on a plain list', async () => {
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
        const order = new RowOrder(base)
        assert.deepEqual(await applyChanges(order, changes, never), touched)
        assert.deepEqual([...order], model)
        assert.equal(order.length, model.length)
      },
    ),
  )
})

test('an index outside of the list is refused', async () => {
  for (const change of [
    { pop: 2 },
    { pop: -1 },
    { insert: { index: 3, digest: 'x' } },
    { insert: { index: -1, digest: 'x' } },
  ] satisfies Change[]) {
    const order = new RowOrder(['a', 'b'])
    await assert.rejects(applyChanges(order, [change], never), refusedWith('invalid_value'))
  }
})

test('a long order changes like a list, and a change moves one block of it at most', async () => {
  const numbers = Array.from({ length: 20_000 }, (_, n) => String(n))
  const model = [...numbers]
  const order = new RowOrder(numbers)
  const changes: Change[] = []
  for (let n = 0; n < 5_000; n++) {
    const index = (n * 7_919) % model.length
    changes.push({ insert: { index: 0, digest: 'a' } }, { insert: { index, digest: 'b' } })
    model.unshift('a')
    model.splice(index, 0, 'b')
  }
  for (let n = 0; n < 15_000; n++) {
    const index = (n * 104_729) % model.length
    changes.push({ pop: index })
    model.splice(index, 1)
  }
  const { splice } = Array.prototype
  let longest = 0
  Array.prototype.splice = function (this: unknown[], ...given: [number, number]) {
    longest = Math.max(longest, this.length)
    return splice.apply(this, given)
  }
  try {
    await applyChanges(order, changes, never)
  } finally {
    Array.prototype.splice = splice
  }
  assert.deepEqual([...order], model)
  assert.ok(longest <= 2048, `${longest}`)
})

test('changes stop when the request is aborted', async (t) => {
  yieldAtEachStep(t)
  const leaving = new AbortController()
  const order = new RowOrder()
  const changes = Array.from({ length: 1000 }, (_, n): Change => ({ append: String(n) }))
  const applying = applyChanges(order, changes, createYieldToLoop(leaving.signal))
  leaving.abort(new Error('gone'))
  await assert.rejects(applying, /gone/)
  assert.equal(order.length, 1)
})
