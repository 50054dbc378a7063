import assert from 'node:assert/strict'
import { test } from 'node:test'
import { panels, seriesOf } from '../../../ui/screens/charts/series.ts'
import type { Bucket } from '../../../ui/server/charts.ts'

const at = '2026-01-02T00:00:00Z'
const names = ['a', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'dear']
const buckets = names.map(
  (name, group): Bucket => ({
    started_at: at,
    group,
    count: 100 - group,
    errors: 0,
    ended: 100 - group,
    input_tokens: 0,
    output_tokens: 0,
    times: null,
    cost: name === 'dear' ? 4.48 : 0.01,
    unpriced: 0,
  }),
)
const answer = {
  groups: names.map((value) => ({ value, is_others: false })),
  buckets,
  sampled: null,
  is_deriving: false,
}
const linesOf = (name: string) => {
  const panel = panels.find((one) => one.name === name)
  assert.ok(panel)
  return seriesOf(panel, answer, [new Date(at)], true).series
}

test('a panel has a line for each of the groups that are the largest by what it shows', () => {
  assert.deepEqual(linesOf('cost')[0], { label: 'dear', values: [4.48] })
  assert.equal(linesOf('calls')[0]?.label, 'a')
  for (const name of ['cost', 'calls']) assert.equal(linesOf(name).at(-1)?.label, 'others')
})
