import assert from 'node:assert/strict'
import { test } from 'node:test'
import fastify from 'fastify'
import { createTenantTurns, takeTurnsByTenant } from '../../src/http/tenant-turns.ts'

const nextTurn = () => new Promise((resolve) => setImmediate(resolve))

/** The steps that have run so far, in order. */
function watched(now = () => 0) {
  const inTurn = createTenantTurns(now)
  const done: string[] = []
  const ask = (...steps: string[]) => {
    for (const step of steps) inTurn(step.slice(0, 1), () => done.push(step))
  }
  return { ask, done }
}

test('a tenant that is alone does not wait', () => {
  const { ask, done } = watched()
  ask('a1', 'a2', 'a3')
  assert.deepEqual(done, ['a1', 'a2', 'a3'])
})

test('while another tenant is active, a tenant runs one step per turn of the event loop', async () => {
  const { ask, done } = watched()
  ask('b1', 'a1', 'a2', 'a3', 'a4')
  assert.deepEqual(done, ['b1', 'a1'])
  await nextTurn()
  assert.deepEqual(done, ['b1', 'a1', 'a2'])
  ask('b2')
  assert.deepEqual(done.at(-1), 'b2', 'a tenant without a step in this turn runs at once')
  ask('b3')
  await nextTurn()
  assert.deepEqual(done.slice(4), ['b3'], 'a tenant with few steps does not wait behind one with many')
  for (let turn = 0; turn < 2; turn++) await nextTurn()
  assert.deepEqual(done.slice(5), ['a3', 'a4'])
})

test('the steps of one tenant stay in order, also once it is alone again', async () => {
  let time = 0
  const { ask, done } = watched(() => time)
  ask('b1', 'a1', 'a2', 'a3')
  time = 10_000
  ask('a4')
  for (let turn = 0; turn < 4; turn++) await nextTurn()
  assert.deepEqual(done, ['b1', 'a1', 'a2', 'a3', 'a4'])
  ask('a5', 'a6')
  assert.deepEqual(done.slice(5), ['a5', 'a6'])
})

test('a step that asks for another one waits for the next turn', async () => {
  const inTurn = createTenantTurns(() => 0)
  const done: string[] = []
  inTurn('b', () => done.push('b'))
  inTurn('a', () => {
    done.push('a')
    inTurn('a', () => done.push('again'))
  })
  assert.deepEqual(done, ['b', 'a'])
  await nextTurn()
  assert.deepEqual(done, ['b', 'a', 'again'])
})

test('with many tenants, each runs its first step before any runs its second, and so on', async () => {
  const { ask, done } = watched()
  const names = Array.from({ length: 20 }, (_, n) => String.fromCharCode(97 + n))
  ask('z0')
  ask(...names.flatMap((name) => [1, 2, 3].map((n) => name + n)))
  for (let turn = 0; turn < 40; turn++) await nextTurn()
  const rounds = [1, 2, 3].map((n) => names.map((name) => name + n))
  assert.deepEqual(
    [done.slice(1, 21), done.slice(21, 41).toSorted(), done.slice(41).toSorted()],
    rounds,
    'the steps ran in the order of the requests',
  )
})

test('next to others a tenant gets a third of the time and pauses in between; alone it does not pause', async () => {
  let time = 0
  const planned: { ms: number; call: () => void }[] = []
  const inTurn = createTenantTurns(
    () => time,
    (ms, call) => planned.push({ ms, call }),
  )
  const done: string[] = []
  const ask = (name: string, takesMs: number) =>
    inTurn(name.slice(0, 1), () => {
      done.push(name)
      time += takesMs
    })
  const turns = async (count: number) => {
    for (let turn = 0; turn < count; turn++) await nextTurn()
  }
  ask('b1', 0)
  for (let n = 1; n <= 9; n++) ask(`a${n}`, 1)
  await turns(9)
  // Three steps of 1 ms count as 9 ms. 3 have passed, and 5 may be used in advance.
  assert.deepEqual(done, ['b1', 'a1', 'a2', 'a3'])
  assert.deepEqual(
    planned.map(({ ms }) => ms),
    [1],
  )
  ask('b2', 0)
  assert.equal(done.at(-1), 'b2', 'a tenant that has used little time does not wait')
  time += 1
  planned.shift()?.call()
  await turns(9)
  assert.deepEqual(done.slice(5), ['a4'])
  assert.equal(planned[0]?.ms, 2)
  ask('b3', 40)
  await turns(1)
  ask('b4', 0)
  assert.deepEqual(done.slice(6), ['b3', 'a5', 'b4'], 'a tenant without waiting steps does not pause')
  time += 50
  planned.shift()?.call()
  await turns(9)
  assert.deepEqual(done.slice(9), ['a6', 'a7', 'a8', 'a9'])
  assert.equal(planned.length, 0)
})

test('tenants with many steps do not pause for each other, but for a tenant with few', async () => {
  let time = 0
  const planned: { ms: number; call: () => void }[] = []
  const inTurn = createTenantTurns(
    () => time,
    (ms, call) => planned.push({ ms, call }),
  )
  const steps = { a: 0, b: 0, light: 0 }
  const ask = (name: 'a' | 'b' | 'light', takesMs: number) =>
    inTurn(name, () => {
      steps[name]++
      time += takesMs
    })
  /** Two tenants that always have ten steps waiting, for this long. */
  let asked = 0
  async function work(ms: number): Promise<{ done: number; rests: number }> {
    const [before, until] = [steps.a + steps.b, time + ms]
    let rests = 0
    while (time < until) {
      for (; asked < steps.a + steps.b + 20; asked++) ask(asked % 2 === 0 ? 'a' : 'b', 1)
      await nextTurn()
      const rest = planned.shift()
      if (rest === undefined) continue
      rests++
      time += rest.ms
      rest.call()
    }
    return { done: steps.a + steps.b - before, rests }
  }
  await work(300)
  assert.deepEqual(await work(300), { done: 300, rests: 0 })
  ask('light', 0)
  const beside = await work(45)
  assert.ok(beside.rests > 0 && beside.done <= 40, JSON.stringify(beside))
  await work(300)
  assert.deepEqual(await work(300), { done: 300, rests: 0 })
  assert.equal(steps.light, 1)
})

test('an answer that cannot be sent becomes a 500 for that request only, also after waiting for its turn', async (t) => {
  const app = fastify()
  t.after(() => app.close())
  app.decorateRequest('caller')
  app.addHook('onRequest', async (request) => {
    Object.assign(request, { caller: { name: String(request.headers['x-user']) } })
  })
  takeTurnsByTenant(app)
  app.get('/', async (_request, reply) => {
    reply.header('x-text', 'two\nlines')
    return {}
  })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  const ask = async (user: string) => {
    const answer = await fetch(address, { headers: { 'x-user': user } })
    await answer.text()
    return answer.status
  }
  const users = Array.from({ length: 40 }, (_, n) => (n % 10 === 0 ? 'light' : 'heavy'))
  assert.deepEqual(
    await Promise.all(users.map(ask)),
    users.map(() => 500),
  )
})
