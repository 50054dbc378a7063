import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { askOne } from '../support/chat-mixture.ts'
import { startChatServer } from '../support/chat-server.ts'
import { enginePid } from '../support/engine-pid.ts'
import { canMeasureMemory, memoryOf } from '../support/process-memory.ts'
import { until } from '../support/wait.ts'

const users = 6
const perRound = 120
/** Growth below this over so many rounds does not depend on the requests: 20 MB are 33 kB each. */
const window = 5
const flatMb = 20
/** Memory that is reserved once, such as compiled code and the pools of an allocator, is reserved long before. */
const mostRounds = 40

const handlesOf = (pid: number) => readdirSync(`/proc/${pid}/fd`).length

test('P8: hundreds of short completions leave no memory in use in either process', async (t) => {
  if (!canMeasureMemory) return t.skip('there is no /proc to measure memory with')
  const server = await startChatServer(t, {
    model: { vocabulary: 1_000 },
    settings: { HEDDLE_PARALLEL: '4' },
  })
  const pids = { server: server.process.pid ?? 0, engine: enginePid(server) }
  let next = 0
  const round = async () => {
    const last = next + perRound
    const user = async () => {
      while (next < last) await askOne(server, next++)
    }
    await Promise.all(Array.from({ length: users }, user))
  }
  const measured = () =>
    Object.fromEntries(
      Object.entries(pids).map(([name, pid]) => [name, { mb: memoryOf(pid).now, handles: handlesOf(pid) }]),
    )

  const seen = [measured()]
  const names = Object.keys(pids)
  const growthOf = (name: string) =>
    (seen.at(-1)?.[name]?.mb ?? Number.NaN) - (seen.at(-1 - window)?.[name]?.mb ?? Number.NaN)
  const isFlat = () => seen.length > window && names.every((name) => growthOf(name) < flatMb)
  while (!isFlat() && seen.length <= mostRounds) {
    await round()
    seen.push(measured())
  }

  const shown = JSON.stringify(seen)
  t.diagnostic(shown)
  for (const name of names) {
    assert.ok(growthOf(name) < flatMb, `${name}: ${shown}`)
    // Connections that stay open for the next requests.
    const before = seen.at(-1 - window)?.[name]?.handles ?? Number.NaN
    assert.ok((seen.at(-1)?.[name]?.handles ?? Number.NaN) <= before + users + 4, shown)
  }
  await until('nothing runs and nothing waits', async () => {
    const counts = [
      await server.figure('heddle_num_requests_running'),
      await server.figure('heddle_num_requests_waiting'),
    ]
    return counts.every((count) => count === 0)
  })
  // All sequences are free: they can all answer at once.
  const { status, json } = await server.ask({ n: 4, max_tokens: 50, ignore_eos: true })
  assert.deepEqual([status, json.usage.completion_tokens], [200, 200])
  assert.equal(enginePid(server), pids.engine, 'the engine was never replaced')
  assert.equal(await server.end('SIGTERM'), 0)
})
