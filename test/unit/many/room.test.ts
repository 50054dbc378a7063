import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setTimeout as delay } from 'node:timers/promises'
import { ModelError } from '../../../packages/engine/index.ts'
import { Refusal, refuse } from '../../../src/domain/refusals.ts'
import { createRoom, type RoomOptions } from '../../../src/inference/many/room.ts'
import { until, withTimeout } from '../../support/wait.ts'

const caller = { tenant: 'alice', isBackground: false }
const background = { tenant: 'alice', isBackground: true }
const never = new AbortController().signal

/** A room for two models of size 1. */
function openRoom(options: Partial<RoomOptions> = {}) {
  const said: string[] = []
  const loads: string[] = []
  const room = createRoom<string>(
    { bound: { machine: 2, device: 0 }, queue: 16, stayMs: { min: 0, max: 0 }, ...options },
    {
      loaded: (name) => said.push(`+${name}`),
      unloaded: (name) => said.push(`-${name}`),
      failed: (name, reason) => said.push(`!${name} ${reason}`),
    },
  )
  const inside = new Set<string>()
  let most = 0
  const add = (
    name: string,
    {
      need = 1,
      open = async () => {},
      lost,
    }: { need?: number; open?: (signal: AbortSignal) => Promise<void>; lost?: Promise<string> } = {},
  ) =>
    room.add(name, async () => ({
      need: { machine: need, device: 0 },
      async open(signal) {
        loads.push(name)
        await delay(1)
        await open(signal)
        inside.add(name)
        most = Math.max(most, inside.size)
        return {
          thing: name,
          // Only the first load is lost.
          lost:
            loads.filter((one) => one === name).length === 1 && lost ? lost : new Promise(() => undefined),
          close: async () => {
            await delay(1)
            inside.delete(name)
          },
        }
      },
    }))
  return { room, add, said, loads, inside, most: () => most }
}

const codeOf = (error: unknown) => (error as Refusal).code

test('a requested model is loaded, and the least recently requested one is unloaded for it', async () => {
  const { add, said, most } = openRoom()
  const [a, b, c] = [add('a'), add('b'), add('c')]
  for (const one of [a, b, a, c]) (await one.hold(caller, never)).release()
  assert.deepEqual(said, ['+a', '+b', '-b', '+c'])
  assert.deepEqual([a.state.at, b.state.at, c.state.at], ['in', 'out', 'in'])
  assert.equal(most(), 2)
})

test('a model in use stays loaded, and a waiting one is loaded afterwards', async () => {
  const { add, said } = openRoom()
  const [a, b, c] = [add('a'), add('b'), add('c')]
  const first = await a.hold(caller, never)
  const second = await b.hold(caller, never)
  const third = c.hold(caller, never)
  await delay(10)
  assert.equal(c.state.at, 'waiting')
  assert.deepEqual(said, ['+a', '+b'])
  second.release()
  ;(await third).release()
  assert.deepEqual(said, ['+a', '+b', '-b', '+c'])
  first.release()
})

test('models in constant use take turns with waiting ones, and none waits for ever', async () => {
  const { add, said } = openRoom()
  const [a, b, c] = [add('a'), add('b'), add('c')]
  let isOver = false
  const use = async (one: typeof a) => {
    while (!isOver) {
      const hold = await one.hold(caller, never)
      await delay(2)
      hold.release()
    }
  }
  // Two users of each model, so that neither is ever free by chance.
  const users = [a, a, b, b].map(use)
  await delay(10)
  ;(await withTimeout('the waiting model is loaded', c.hold(caller, never))).release()
  assert.ok(said.includes('+c'))
  isOver = true
  await Promise.all(users)
})

test('simultaneous requests share one load', async () => {
  const { add, loads } = openRoom()
  const a = add('a')
  const holds = await Promise.all(Array.from({ length: 10 }, () => a.hold(caller, never)))
  assert.deepEqual(loads, ['a'])
  for (const { release } of holds) release()
})

test('a request that leaves the queue frees its slot, and nothing is loaded for it', async () => {
  const { add, loads } = openRoom({ queue: 1 })
  const [a, b, c] = [add('a'), add('b'), add('c')]
  const holds = [await a.hold(caller, never), await b.hold(caller, never)]
  const leaving = new AbortController()
  const waiting = c.hold(caller, leaving.signal)
  await assert.rejects(c.hold(caller, never), (error) => codeOf(error) === 'engine_queue_full')
  leaving.abort(new Error('left'))
  await assert.rejects(waiting, /left/)
  const next = new AbortController()
  const again = c.hold(caller, next.signal)
  next.abort(new Error('left as well'))
  await assert.rejects(again, /left as well/)
  for (const { release } of holds) release()
  await delay(5)
  assert.deepEqual(loads, ['a', 'b'])
})

test('a load that no request waits for is abandoned when another model needs the memory', async () => {
  const { add, said, inside } = openRoom({ bound: { machine: 1, device: 0 } })
  const a = add('a', {
    open: (signal) =>
      new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  })
  const b = add('b')
  const leaving = new AbortController()
  const waiting = a.hold(caller, leaving.signal)
  await delay(5)
  leaving.abort(new Error('left'))
  await assert.rejects(waiting)
  ;(await withTimeout('the other model is loaded', b.hold(caller, never))).release()
  assert.deepEqual([said, [...inside]], [['+b'], ['b']])
})

test('a model that cannot be loaded reports why, and is not tried again for each request', async () => {
  let pause = 60_000
  const { add, loads, said } = openRoom({ pauseMs: () => pause })
  let isBroken = true
  const a = add('a', {
    open: async () => {
      if (isBroken) throw new ModelError('it is broken')
    },
  })
  pause = 2_000
  await assert.rejects(Promise.all([a.hold(caller, never), a.hold(caller, never)]), /not ready: it is broken/)
  for (let asked = 0; asked < 20; asked++) {
    await assert.rejects(a.hold(caller, never), (error) => codeOf(error) === 'model_not_ready')
  }
  assert.deepEqual([loads, said], [['a'], ['!a it is broken']])
  assert.deepEqual(a.state, { at: 'failed', reason: 'it is broken' })
  isBroken = false
  await until('it is tried again', async () => {
    const hold = await a.hold(caller, never).catch(() => undefined)
    hold?.release()
    return hold !== undefined
  })
  assert.equal(a.state.at, 'in')
})

test('a model that can never fit is refused with the memory it needs', async () => {
  const { add, room } = openRoom()
  const a = add('a', { need: 3 })
  await assert.rejects(a.hold(caller, never), /HEDDLE_MODELS_MEMORY/)
  assert.equal(room.used.machine, 0)
})

test('a model that died frees its memory and is loaded again for a later request', async () => {
  const lost = Promise.withResolvers<string>()
  const { add, room } = openRoom({ pauseMs: () => 0 })
  const a = add('a', { lost: lost.promise })
  const hold = await a.hold(caller, never)
  lost.resolve('it died')
  await delay(5)
  assert.deepEqual([a.state, room.used.machine], [{ at: 'failed', reason: 'it died' }, 0])
  hold.release()
  ;(await a.hold(caller, never)).release()
  assert.equal(a.state.at, 'in')
})

test('background work does not take the memory of callers, and frees its own when they need it', async () => {
  const { add } = openRoom()
  const [a, b, c] = [add('a'), add('b'), add('c')]
  ;(await a.hold(caller, never)).release()
  const behind = await b.hold(background, never)
  await assert.rejects(c.hold(background, never), (error) => codeOf(error) === 'model_not_ready')
  const used = await a.hold(caller, never)
  const wanted = c.hold(caller, never)
  await delay(5)
  assert.equal(behind.signal?.aborted, true)
  assert.ok(behind.signal?.reason instanceof Refusal)
  behind.release()
  ;(await wanted).release()
  used.release()
})

test('a retired model finishes its requests, accepts no more and then frees its memory', async () => {
  const { add, room, inside } = openRoom()
  const a = add('a')
  const hold = await a.hold(caller, never)
  let isGone = false
  const gone = a.retire().then(() => {
    isGone = true
  })
  await assert.rejects(a.hold(caller, never), (error) => codeOf(error) === 'model_not_ready')
  await delay(5)
  assert.deepEqual([isGone, [...inside]], [false, ['a']])
  hold.release()
  await gone
  assert.deepEqual([[...inside], room.used.machine], [[], 0])
})

test('closing the room ends the retirement of a model that is in use', async () => {
  const { add, room, inside } = openRoom()
  const a = add('a')
  await a.hold(caller, never)
  const gone = a.retire()
  await room.close()
  await withTimeout('the model is gone', gone)
  assert.deepEqual([...inside], [])
})

test('closing the room ends all loads and waiting requests', async () => {
  const { add, room, inside } = openRoom()
  const [a, b, c] = [add('a'), add('b'), add('c')]
  await a.hold(caller, never)
  await b.hold(caller, never)
  const waiting = assert.rejects(c.hold(caller, never), (error) => codeOf(error) === 'stopping')
  await room.close()
  await waiting
  assert.deepEqual([...inside], [])
  await assert.rejects(a.hold(caller, never), (error) => codeOf(error) === codeOf(refuse('stopping')))
})

test('requests in any order never exceed the memory, and all are served', async () => {
  const { add, most, room } = openRoom({ queue: 1_000 })
  const all = ['a', 'b', 'c', 'd', 'e'].map((name) => add(name))
  let seed = 7
  const random = (below: number) => {
    seed = (seed * 16_807) % 2_147_483_647
    return seed % below
  }
  let served = 0
  await Promise.all(
    Array.from({ length: 300 }, async (_, index) => {
      await delay(random(30))
      const leaves = random(4) === 0
      const signal = leaves ? AbortSignal.timeout(random(10) + 1) : never
      try {
        const hold = await all[random(5)]?.hold({ tenant: `user ${index % 7}`, isBackground: false }, signal)
        assert.ok(room.used.machine <= 2)
        await delay(random(5))
        hold?.release()
        served++
      } catch (error) {
        assert.ok(leaves, String(error))
        served++
      }
    }),
  )
  assert.equal(served, 300)
  assert.ok(most() <= 2, `${most()} were loaded at once`)
})

test('simultaneous requests for models that are not loaded are served, or refused because the queue is full', async () => {
  const { add, loads, most, room } = openRoom({ queue: 64 })
  const all = ['a', 'b', 'c', 'd'].map((name) => add(name))
  // The last user sends as many requests as all others together.
  const tenants = Array.from({ length: 200 }, (_, index) => (index < 100 ? `user ${index}` : 'the last'))
  const outcomes = await Promise.all(
    tenants.map(async (tenant, index) => {
      try {
        const resident = all[index % all.length]
        const hold = await resident?.hold({ tenant, isBackground: false }, never)
        await delay(1)
        hold?.release()
        return 'served'
      } catch (error) {
        return codeOf(error)
      }
    }),
  )
  // No model was loaded when they asked, so exactly 64 requests waited.
  assert.equal(outcomes.filter((one) => one === 'served').length, 64)
  assert.equal(outcomes.filter((one) => one === 'engine_queue_full').length, 136)
  assert.equal(loads.length, all.length)
  assert.ok(most() <= 2, `${most()} were loaded at once`)
  // The queue is empty again, so it has room for as many.
  const again = await Promise.all(
    Array.from({ length: 64 }, (_, index) =>
      all[index % all.length]?.hold({ tenant: `user ${index}`, isBackground: false }, never).then((hold) => {
        hold.release()
        return true
      }),
    ),
  )
  assert.ok(again.every(Boolean))
  await room.close()
})

test('one user can fill seven eighths of the queue, and another is still admitted', async () => {
  const { add } = openRoom({ queue: 8 })
  const a = add('a')
  const one = Array.from({ length: 8 }, () => a.hold(caller, never).then(({ release }) => release()))
  const other = a.hold({ tenant: 'bob', isBackground: false }, never)
  const refused = (await Promise.allSettled(one)).flatMap((end) =>
    end.status === 'rejected' ? [codeOf(end.reason)] : [],
  )
  assert.deepEqual(refused, ['engine_share_full'])
  ;(await other).release()
})
