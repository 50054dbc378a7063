// What naming a prompt adds to the first token, compared with the same messages in full.
// 2026-11-28, medians of 600 pairs: 0.07 to 0.25 ms in twelve rounds, 0.18 in the middle; up to 0.3 beside other programs.

import { rmSync } from 'node:fs'
import { mkdtemp } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { runOf, startHeddle } from './chat-contestants.ts'
import { quantile, shown, sorted, table } from './figures.ts'
import { type Kind, openAsker } from './gateway-asker.ts'

const { values: options } = parseArgs({
  options: { pairs: { type: 'string', default: '400' }, rounds: { type: 'string', default: '3' } },
})
/** Pairs that are not measured, in which the code of both ways is compiled. */
const warming = 300

const folder = await mkdtemp(join(tmpdir(), 'heddle-benchmark-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true, maxRetries: 10 }))
const server = await startHeddle(await runOf('builtin'), folder, { HEDDLE_MAX_LOOP_DELAY: '0' })
const system =
  'You help customers of {shop} with their orders. Answer in one sentence, and never promise a date.'
const messages = [{ role: 'user', content: 'Where is my parcel?' }]
await createPrompt()
const headers = { ...server.headers, 'x-heddle-project': 'bench/prompts' }
const filled = { role: 'system', content: system.replace('{shop}', 'a bookshop') }
const full = openAsker({ ...server, headers }, { messages: [filled, ...messages], temperature: 0 })
const named = openAsker(
  { ...server, headers },
  { prompt: { id: 'support', variables: { shop: 'a bookshop' } }, messages },
)
const rows: string[][] = []
for (const kind of ['whole', 'stream'] as const) {
  await addedIn(kind, warming)
  for (let round = 1; round <= Number(options.rounds); round++) {
    const pairs = await addedIn(kind, Number(options.pairs))
    const added = sorted(pairs.map((pair) => pair.named - pair.full))
    const ofFull = sorted(pairs.map((pair) => pair.full))
    rows.push([
      `${kind}, round ${round}`,
      ...[ofFull, added].flatMap((ms) => [quantile(ms, 0.5), quantile(ms, 0.9)]).map(shown),
    ])
  }
}
full.close()
named.close()
await server.stop()
console.log(table(['ms to the first token', 'in full', 'p90', 'added by name', 'p90'], rows))

/** Neighbours in turns: which of them goes first alternates. */
async function addedIn(kind: Kind, count: number): Promise<{ full: number; named: number }[]> {
  const pairs: { full: number; named: number }[] = []
  for (let pair = 0; pair < count; pair++) {
    if (pair % 2 === 0) {
      const first = await full.ask(kind)
      pairs.push({ full: first.first, named: (await named.ask(kind)).first })
    } else {
      const first = await named.ask(kind)
      pairs.push({ full: (await full.ask(kind)).first, named: first.first })
    }
  }
  return pairs
}

async function createPrompt(): Promise<void> {
  const project_id = 'bench/prompts'
  const val = { messages: [{ role: 'system', content: system }], settings: { temperature: 0 } }
  const posted: [path: string, body: object][] = [
    ['/obj/create', { obj: { project_id, object_id: 'support', val } }],
    ['/objs/support/aliases/production/move', { project_id, digest: 'v0' }],
  ]
  for (const [path, body] of posted) {
    const answer = await fetch(`${server.address}${path}`, {
      method: 'POST',
      headers: server.headers,
      body: JSON.stringify(body),
    })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
  }
}
