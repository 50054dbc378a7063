import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { startPostgres, type TestPostgres } from '../support/postgres.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { newFolder, type RunningServer, startOne } from '../support/server.ts'
import { startTcpProxy, type TcpProxy } from '../support/tcp-proxy.ts'
import { until, withTimeout } from '../support/wait.ts'
import { campaign } from './campaign/length.ts'
import { createMixedWrites, type Outcome } from './campaign/mixed-writes.ts'

/** For each server. */
const writers = 3
/** Longer than a query may take and the grace of its connection. */
const answerMs = 30_000

let postgres: TestPostgres
before(async () => {
  postgres = await startPostgres()
})
after(() => postgres.stop())

interface Member {
  server: RunningServer
  network: TcpProxy
  start(): Promise<RunningServer>
}

interface Fault {
  name: string
  strike(members: Member[]): unknown
  /** Whether the other servers accept writes during the fault. */
  othersGoOn: boolean
  mend(members: Member[]): Promise<unknown>
}

const faults: Fault[] = [
  {
    name: 'one of them is killed',
    strike: ([first]) => first?.server.end('SIGKILL'),
    othersGoOn: true,
    async mend([first]) {
      if (first) first.server = await first.start()
    },
  },
  {
    name: 'the network between one of them and the database is gone',
    strike: ([first]) => first?.network.silence(),
    othersGoOn: true,
    mend: async ([first]) => first?.network.heal(),
  },
  {
    name: 'the database crashes and comes back',
    strike: () => postgres.crash(),
    othersGoOn: false,
    mend: () => postgres.resume(),
  },
]

for (const servers of campaign.faults > 1 ? [2, 3] : [3]) {
  test(`P1: ${servers} servers on one PostgreSQL lose nothing that any of them has acknowledged`, async (t) => {
    t.diagnostic(`seed ${campaign.seed}`)
    const random = seededRandom(campaign.seed)
    const url = await postgres.createDatabase()
    const members: Member[] = await Promise.all(
      Array.from({ length: servers }, async () => {
        const network = await startTcpProxy(url)
        t.after(() => network.close())
        const folder = await newFolder(t)
        const settings = {
          HEDDLE_DATABASE_URL: network.url,
          HEDDLE_DATA: folder,
          HEDDLE_QUERY_TIMEOUT: '3000',
        }
        const start = () => startOne(t, settings)
        return { network, start, server: await start() }
      }),
    )
    const writes = createMixedWrites(random)
    for (let round = 0; round < campaign.faults; round++) {
      for (const fault of faults) await meet(fault, members, writes, t)
    }
    const last = members.at(-1) as Member
    await writes.assertAllThere(last.server)
    for (const { server } of members) assert.equal(await server.end('SIGTERM'), 0)
  })
}

async function meet(
  { name, strike, othersGoOn, mend }: Fault,
  members: Member[],
  writes: ReturnType<typeof createMixedWrites>,
  t: { diagnostic(text: string): void },
): Promise<void> {
  const before = writes.acknowledged.length
  const counts: Record<Outcome, number> = { acknowledged: 0, refused: 0, 'cut off': 0 }
  const since = { struck: 0, elsewhere: 0, met: 0 }
  let isOver = false
  let hasStruck = false
  const writer = async (member: Member) => {
    while (!isOver) {
      const outcome = await withTimeout(`${name}: an answer`, writes.write(member.server), answerMs)
      counts[outcome]++
      if (!hasStruck) {
        assert.equal(outcome, 'acknowledged', `${name}: before any fault`)
        continue
      }
      if (outcome !== 'acknowledged') since.met++
      else if (member !== members[0]) since.elsewhere++
      // A connection to a stopped server fails at once.
      if (outcome === 'cut off') await new Promise((resolve) => setTimeout(resolve, 20))
    }
  }
  const writing = Promise.all(
    members.flatMap((member) => Array.from({ length: writers }, () => writer(member))),
  )
  // A writer that fails ends the test where it is awaited.
  writing.catch(() => undefined)
  const failed = writing.then(() => undefined)
  const reach = (what: string, isThere: () => boolean) =>
    Promise.race([until(`${name}: ${what}`, async () => isThere(), 60_000), failed])
  try {
    await reach('writes are under way', () => writes.acknowledged.length > before + 40)
    hasStruck = true
    await strike(members)
    await reach('it is met', () => since.met > 0)
    if (othersGoOn) {
      const reached = since.elsewhere + 20
      await reach('the others go on', () => since.elsewhere > reached)
    }
    await mend(members)
    for (const [index, { server }] of members.entries()) {
      await until(
        `${name}: server ${index} takes writes again`,
        async () => (await writes.write(server)) === 'acknowledged',
        60_000,
      )
      await until(
        `${name}: server ${index} is ready`,
        async () => (await server.get('/ready')).status === 200,
        30_000,
      )
    }
  } finally {
    // Otherwise the writers would keep writing to servers that no longer exist.
    isOver = true
  }
  await withTimeout(`${name}: every client has an answer`, writing, answerMs)
  t.diagnostic(`${name}: ${JSON.stringify(counts)}`)
  const last = members.at(-1) as Member
  await writes.assertAllThere(last.server, before)
}
