import { parseArgs } from 'node:util'
import { askOne } from '../test/support/chat-mixture.ts'
import { type ChatServer, startChatServer } from '../test/support/chat-server.ts'
import { engineOf } from '../test/support/engine-of.ts'
import { memoryOf } from '../test/support/process-memory.ts'
import { shown, table } from './figures.ts'
import { loadNow } from './machine.ts'

/**
 * Thousands of short completions of all kinds, some left in the middle, and what the processes of the server and of the
 * engine hold meanwhile.
 */
const { values } = parseArgs({
  options: {
    completions: { type: 'string', default: '10000' },
    users: { type: 'string', default: '6' },
    looks: { type: 'string', default: '20' },
    builtin: { type: 'boolean', default: false },
  },
})
const completions = Number(values.completions)
const users = Number(values.users)
const looks = Number(values.looks)

const cleaning: (() => unknown)[] = []

async function soak(server: ChatServer): Promise<string[][]> {
  const rows: string[][] = []
  const since = performance.now()
  let next = 0
  for (let look = 0; look <= looks; look++) {
    const last = Math.round((completions * look) / looks)
    const user = async () => {
      while (next < last) await askOne(server, next++)
    }
    await Promise.all(Array.from({ length: users }, user))
    const [ours, engine] = [server.process.pid ?? 0, engineOf(server)].map(memoryOf)
    rows.push([
      String(last),
      shown((performance.now() - since) / 1000),
      shown(ours?.now ?? Number.NaN),
      shown(engine?.now ?? Number.NaN),
    ])
  }
  return rows
}

try {
  const server = await startChatServer(
    { after: (clean: () => unknown) => void cleaning.push(clean) },
    { model: values.builtin ? 'builtin' : { vocabulary: 1_000 } },
  )
  const rows = await soak(server)
  console.log(`${completions} completions, ${users} at a time, load ${shown(loadNow())}\n`)
  console.log(table(['completions', 'seconds', 'server, MB', 'engine, MB'], rows))
  await server.end('SIGTERM')
} finally {
  for (const clean of cleaning.reverse()) await clean()
}
