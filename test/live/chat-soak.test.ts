import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { test } from 'node:test'
import { askOne } from '../support/chat-mixture.ts'
import { startChatServer } from '../support/chat-server.ts'
import { engineOf } from '../support/engine-of.ts'
import { canMeasureMemory, memoryOf } from '../support/process-memory.ts'
import { until } from '../support/waiting.ts'

const users = 6
const rounds = 5
const perRound = 120

const handlesOf = (pid: number) => readdirSync(`/proc/${pid}/fd`).length

test('P8: hundreds of short completions leave nothing in the memory of either process', async (t) => {
  if (!canMeasureMemory) return t.skip('there is no /proc to measure memory with')
  const server = await startChatServer(t, {
    model: { vocabulary: 1_000 },
    settings: { HEDDLE_PARALLEL: '4' },
  })
  const pids = { server: server.process.pid ?? 0, engine: engineOf(server) }
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

  // The first rounds fill what is kept: compiled code, samplers, what sequences remember, connections.
  for (let i = 0; i < 2; i++) await round()
  const before = measured()
  for (let i = 0; i < rounds; i++) await round()
  const after = measured()

  const shown = JSON.stringify({ before, after })
  t.diagnostic(shown)
  for (const name of Object.keys(pids)) {
    const growth = (after[name]?.mb ?? Number.NaN) - (before[name]?.mb ?? 0)
    assert.ok(growth < 40, `${name}: ${shown}`)
    assert.ok((after[name]?.handles ?? Number.NaN) <= (before[name]?.handles ?? 0) + users + 4, shown)
  }
  await until('nothing runs and nothing waits', async () => {
    const counts = [
      await server.figure('heddle_num_requests_running'),
      await server.figure('heddle_num_requests_waiting'),
    ]
    return counts.every((count) => count === 0)
  })
  // All sequences are free: as many answers as there are come at once.
  const { status, json } = await server.ask({ n: 4, max_tokens: 50, ignore_eos: true })
  assert.deepEqual([status, json.usage.completion_tokens], [200, 200])
  assert.equal(engineOf(server), pids.engine, 'it is the same engine all the while')
  assert.equal(await server.end('SIGTERM'), 0)
})
