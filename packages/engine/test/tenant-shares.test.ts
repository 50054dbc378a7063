import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createTenantShares } from '../loop/turns/tenant-shares.ts'

const both = new Set(['alice', 'bob'])
const tokensOf = (tenant: string, count = 1) => new Map([[tenant, count]])

test('the tenant with the least time is next, however many tokens that was', () => {
  const shares = createTenantShares()
  const order: (string | undefined)[] = []
  for (let turn = 0; turn < 10; turn++) {
    shares.meet(both)
    const { next } = shares
    order.push(next)
    shares.pay(next === 'alice' ? tokensOf('alice', 500) : tokensOf('bob'), next === 'alice' ? 30 : 10)
  }
  assert.deepEqual(order, ['bob', 'alice', 'bob', 'bob', 'bob', 'alice', 'bob', 'bob', 'bob', 'alice'])
})

test('in a shared batch, each tenant pays for its own tokens', () => {
  const shares = createTenantShares()
  shares.meet(both)
  shares.pay(
    new Map([
      ['alice', 90],
      ['bob', 10],
    ]),
    100,
  )
  shares.meet(both)
  assert.equal(shares.next, 'bob')
  assert.equal(shares.isAhead('alice', 79), true)
  assert.equal(shares.isAhead('alice', 81), false)
  assert.equal(shares.isAhead('bob', 0), false)
})

test('a new tenant gets no credit and no debt for the time before it arrived', () => {
  const shares = createTenantShares()
  for (let turn = 0; turn < 100; turn++) {
    shares.meet(new Set(['alice']))
    shares.pay(tokensOf('alice'), 10)
  }
  shares.meet(both)
  assert.equal(shares.isAhead('alice', 0), false)
  shares.pay(tokensOf('bob'), 5)
  shares.meet(both)
  assert.equal(shares.next, 'alice')
})

test('a long request keeps its share among a series of short ones', () => {
  const shares = createTenantShares()
  let alice = 0
  let others = 0
  for (let turn = 0; turn < 1_000; turn++) {
    // A different guest each time, which leaves after one batch.
    shares.meet(new Set(['alice', `guest ${turn}`]))
    if (shares.isAhead('alice', 0)) {
      shares.pay(tokensOf(`guest ${turn}`), 5)
      others += 5
    } else {
      shares.pay(
        new Map([
          ['alice', 1],
          [`guest ${turn}`, 1],
        ]),
        20,
      )
      alice += 10
      others += 10
    }
  }
  assert.ok(alice > 0.3 * (alice + others), `${alice} of ${alice + others}`)
})
