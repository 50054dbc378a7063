import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { keys } from '../test/support/app.ts'
import { askOne } from '../test/support/chat-mixture.ts'
import { type ChatServer, startChatServer } from '../test/support/chat-server.ts'
import { enginePid } from '../test/support/engine-pid.ts'
import { memoryOf } from '../test/support/process-memory.ts'
import { shown, table } from './figures.ts'
import { loadNow } from './machine.ts'
import { growthOf, heldBy } from './memory-series.ts'
import { createMixedLoad } from './mixed-load.ts'

/**
 * How much memory the processes of the server use while it works: during thousands of short completions of all kinds,
 * some of them cancelled midway, or, with `--mixed`, during an hour of everything that a team does to it.
 */
const { values } = parseArgs({
  options: {
    completions: { type: 'string', default: '10000' },
    users: { type: 'string', default: '6' },
    looks: { type: 'string', default: '20' },
    builtin: { type: 'boolean', default: false },
    mixed: { type: 'boolean', default: false },
    minutes: { type: 'string', default: '60' },
    pause: { type: 'string', default: '0' },
  },
})
const completions = Number(values.completions)
const users = Number(values.users)
const looks = Number(values.looks)

/** How much each process may grow from the beginning of the second half to its end. */
const mostGrowth = 0.05

const cleaning: (() => unknown)[] = []

async function soak(server: ChatServer): Promise<void> {
  const rows: string[][] = []
  const since = performance.now()
  let next = 0
  for (let look = 0; look <= looks; look++) {
    const last = Math.round((completions * look) / looks)
    const user = async () => {
      while (next < last) await askOne(server, next++)
    }
    await Promise.all(Array.from({ length: users }, user))
    const [ours, engine] = [server.process.pid ?? 0, enginePid(server)].map(memoryOf)
    rows.push([
      String(last),
      shown((performance.now() - since) / 1000),
      shown(ours?.now ?? Number.NaN),
      shown(engine?.now ?? Number.NaN),
    ])
  }
  console.log(`${completions} completions, ${users} at a time, load ${shown(loadNow())}\n`)
  console.log(table(['completions', 'seconds', 'server, MB', 'engine, MB'], rows))
}

/** The memory that V8 reports for the server's main thread, in MB. */
async function heapOf(server: ChatServer): Promise<Record<'heap' | 'external', number>> {
  const text = await (await server.get('/metrics', keys.root)).text()
  const megabytes = (name: string) =>
    Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]) / (1024 * 1024)
  return {
    heap: megabytes('nodejs_heap_size_used_bytes'),
    external: megabytes('nodejs_external_memory_bytes'),
  }
}

async function soakMixed(server: ChatServer, minutes: number): Promise<void> {
  const pid = server.process.pid ?? 0
  const load = createMixedLoad(server)
  const until = performance.now() + minutes * 60_000
  const every = (minutes * 60_000) / (3 * looks)
  let step = 0
  let isOver = false
  const user = async () => {
    while (!isOver) {
      await load(step++)
      if (values.pause !== '0') await sleep(Number(values.pause))
    }
  }
  const series = new Map<string, number[]>()
  const working = Promise.all(Array.from({ length: users }, user))
  working.catch(() => {
    isOver = true
  })
  console.log(`${minutes} minutes, ${users} users, a pause of ${values.pause} ms\n`)
  for (let look = 1; !isOver && performance.now() < until; look++) {
    await sleep(every)
    const held = heldBy(pid)
    for (const [name, mb] of held) series.set(name, [...(series.get(name) ?? []), mb])
    const { heap, external } = await heapOf(server)
    const processes = [...held].map(([name, mb]) => `${name} ${shown(mb)}`).join(', ')
    const at = shown((look * every) / 60_000)
    console.log(
      `${at} min, ${step} steps: ${processes} MB; main thread: heap ${shown(heap)}, external ${shown(external)} MB`,
    )
  }
  isOver = true
  await working
  console.log('')
  for (const [name, held] of series) {
    const growth = growthOf(held)
    const isFlat = growth <= mostGrowth
    console.log(`${name}: ${shown(growth * 100)} % over the second half, ${isFlat ? 'flat' : 'NOT FLAT'}`)
    if (!isFlat) process.exitCode = 1
  }
}

try {
  const server = await startChatServer(
    { after: (clean: () => unknown) => void cleaning.push(clean) },
    { model: values.builtin ? 'builtin' : { vocabulary: 1_000 } },
  )
  if (values.mixed) await soakMixed(server, Number(values.minutes))
  else await soak(server)
  await server.end('SIGTERM')
} finally {
  for (const clean of cleaning.reverse()) await clean()
}
