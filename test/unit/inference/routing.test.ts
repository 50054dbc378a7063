import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Delivery, deliver, emptyLoad, type Load } from '../../../src/inference/upstream/deliveries.ts'
import { orderOf } from '../../../src/inference/upstream/routing.ts'

// Which address gets a request, by what was measured, on a clock that stands still unless it is told.

function cluster(...weights: number[]) {
  let time = 1_000_000
  const now = () => time
  const all = weights.map(
    (weight, index): Load => ({
      ...emptyLoad(),
      url: `http://10.0.0.${index}/v1`,
      weight,
      fault: undefined,
    }),
  )
  const first = (prompt: string) => orderOf(all, prompt, time)[0] as Load
  return {
    all,
    first,
    order: (prompt: string) => orderOf(all, prompt, time),
    pass(ms: number) {
      time += ms
    },
    /** As if the last answer there had taken so long. */
    measure(load: Load, ms: number) {
      load.waits.splice(0, load.waits.length, { at: time, ms })
    },
    begin: (load: Load, isMeasured = true) => deliver(load, isMeasured, now),
    /** One request after the other; an address answers after its time. */
    run(count: number, times: readonly number[]): number[] {
      const sent = all.map(() => 0)
      for (let i = 0; i < count; i++) {
        const index = all.indexOf(first(`Prompt ${i}`))
        sent[index] = (sent[index] ?? 0) + 1
        const delivery = deliver(all[index] as Load, true, now)
        time += times[index] as number
        delivery.sign()
        delivery.end('answered')
      }
      return sent
    },
  }
}

test('a slow address is asked once, then the fast one', () => {
  const [slow = 0, fast = 0] = cluster(1, 1).run(40, [3_000, 8])
  assert.ok(slow <= 1, `${slow} of ${slow + fast}`)
})

test('a slow address is tried again after a while, and gets its share when it is fast again', () => {
  const { run, pass, all } = cluster(1, 1)
  run(40, [3_000, 8])
  pass(600_000)
  const [tried = 0] = run(40, [3_000, 8])
  assert.equal(tried, 1)
  pass(600_000)
  const [again = 0] = run(200, [8, 8])
  assert.ok(again > 60 && again < 140, `${again} of 200`)
  assert.equal(all[0]?.running, 0)
})

test('addresses that are alike share by their weights, and a prompt stays where it was', () => {
  const { run, first } = cluster(3, 1)
  const [heavy = 0] = run(400, [30, 40])
  assert.ok(heavy > 260 && heavy < 340, `${heavy} of 400`)
  for (const prompt of ['one', 'two', 'three']) {
    const home = first(prompt)
    run(50, [90, 20])
    assert.equal(first(prompt), home)
  }
})

test('one long prompt among others does not move prompts away', () => {
  const { all, first, run, begin, pass } = cluster(1, 1)
  run(100, [20, 20])
  const home = first('a conversation')
  const long = begin(home)
  pass(400)
  long.sign()
  assert.equal(first('a conversation'), home)
  pass(20_000)
  long.end('answered')
  assert.equal(first('a conversation'), home)
  assert.equal(all.length, 2)
})

test('an address with many open requests is relieved, sooner the slower it is', () => {
  const openUntilMoved = (ms: number) => {
    const { all, first, begin, measure } = cluster(1, 1)
    const home = first('a prompt')
    const open: Delivery[] = []
    while (first('a prompt') === home && open.length < 100) {
      const delivery = begin(home)
      delivery.sign()
      open.push(delivery)
      for (const one of all) measure(one, one === home ? ms : 20)
    }
    return open.length
  }
  assert.equal(openUntilMoved(20), 5)
  assert.ok(openUntilMoved(300) < 5)
})

test('an address that is silent while requests wait for it is avoided before any of them fails', () => {
  const { all, first, run, begin, pass } = cluster(1, 1)
  run(20, [20, 20])
  const stuck = first('a prompt')
  begin(stuck)
  assert.equal(first('a prompt'), stuck)
  pass(2_000)
  for (let i = 0; i < 20; i++) assert.notEqual(first(`Prompt ${i}`), stuck)
  // A sign of another request there ends its silence.
  begin(stuck).sign()
  assert.ok(Array.from({ length: 20 }, (_, i) => first(`Prompt ${i}`)).includes(stuck))
  assert.equal(all.length, 2)
})

test('what is not measured changes neither the speed nor the silence of an address', () => {
  const { all, begin, first, pass } = cluster(1, 1)
  const home = first('a prompt') as Load
  const quick = begin(home, false)
  pass(5)
  quick.sign()
  quick.end('answered')
  const stuck = begin(home, false)
  pass(5_000)
  assert.equal(first('a prompt'), home)
  assert.deepEqual([home.running, home.waiting.size, home.waits, home.lastSign], [1, 0, [], 0])
  assert.deepEqual([stuck.end('timeout'), stuck.end('closed')], [true, false])
  assert.deepEqual(home.waits, [])
  assert.deepEqual(home.counts, { answered: 1, timeout: 1 })
  assert.equal(all.length, 2)
})

test('a timeout counts as a wait, and a client that leaves as nothing', () => {
  const { all, begin, pass } = cluster(1)
  const [load] = all as [Load]
  const left = begin(load)
  const late = begin(load)
  pass(5_000)
  left.end()
  late.end('timeout')
  late.end('timeout')
  assert.deepEqual(load.waits, [{ at: 1_005_000, ms: 5_000 }])
  assert.deepEqual(load.counts, { timeout: 1 })
  assert.deepEqual([load.running, load.waiting.size], [0, 0])
})

test('addresses that cool down come after those that work, and before those that do not answer', () => {
  const { all, order, pass } = cluster(1, 1, 1, 1)
  const [dead, long, short, well] = all as [Load, Load, Load, Load]
  dead.fault = 'ECONNREFUSED'
  long.coolUntil = 1_060_000
  short.coolUntil = 1_010_000
  assert.deepEqual(order('x'), [well, short, long, dead])
  pass(10_000)
  assert.deepEqual(new Set(order('x').slice(0, 2)), new Set([well, short]))
  well.fault = short.fault = 'ECONNREFUSED'
  assert.deepEqual(order('x')[0], long)
})
