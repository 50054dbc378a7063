import assert from 'node:assert/strict'
import { test } from 'node:test'
import { windowAt } from '../../src/domain/budgets.ts'
import { amountOf, amountText, costOfTokens, exactPrice } from '../../src/domain/money.ts'
import { parseTime } from '../../src/domain/time.ts'

test('amounts keep all their digits', () => {
  for (const text of ['0', '5', '12.5', '0.000000001', '999999.999999999', '1000000']) {
    assert.equal(amountText(amountOf(text) as number), text)
  }
  assert.equal(amountOf('012.500'), 12_500_000_000)
  for (const text of ['', '-1', '1e3', '.5', '1.', '0.0000000001', '1000000.000000001', '9999999', '1,5']) {
    assert.equal(amountOf(text), undefined, text)
  }
})

test('a price is the decimal that was written, and a cost is rounded up once', () => {
  const price = (prompt: number, completion: number) => ({
    prompt: exactPrice(prompt),
    completion: exactPrice(completion),
  })
  assert.equal(exactPrice(0.1), 100_000_000_000_000_000n)
  assert.equal(exactPrice(1.25e-8), 12_500_000_000n)
  assert.equal(exactPrice(2e21), 2n * 10n ** 39n)
  assert.equal(exactPrice(1e-30), 1n, 'never free')
  assert.equal(costOfTokens({ prompt: 10, completion: 0 }, price(0.1, 0)), 1_000_000_000)
  assert.equal(costOfTokens({ prompt: 3, completion: 5 }, price(1.5e-7, 6e-7)), 3_450)
  assert.equal(costOfTokens({ prompt: 1, completion: 1 }, price(1.25e-10, 1e-10)), 1)
  assert.equal(costOfTokens({ prompt: 7, completion: 7 }, price(0, 0)), 0)
  assert.equal(costOfTokens({ prompt: 1e9, completion: 1 }, price(1e300, 0)), 1e15)
})

test('a window is a day or a month of UTC', () => {
  const time = (text: string) => parseTime(text) as number
  const window = (period: 'day' | 'month', text: string) => Object.values(windowAt(period, time(text)))
  assert.deepEqual(window('day', '2028-02-29T23:59:59.999999Z'), [time('2028-02-29'), time('2028-03-01')])
  assert.deepEqual(window('day', '2028-03-01T00:00:00Z'), [time('2028-03-01'), time('2028-03-02')])
  assert.deepEqual(window('month', '2026-12-31T23:00:00-02:00'), [time('2027-01-01'), time('2027-02-01')])
})
