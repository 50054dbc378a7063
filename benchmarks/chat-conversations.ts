import { type Aim, boundOf } from './aims.ts'
import type { Answering, ModelRun } from './chat-contestants.ts'
import type { Measured } from './chat-rounds.ts'
import { type Conversations, firstTokens } from './conversation-turns.ts'
import { shown, table } from './figures.ts'
import type { Report } from './report.ts'

const turns = 3
const shape = { turns, first: 300, adds: 60, tokens: 8 }
/** A few users suffice for the time of a full prefill, which is always the same. */
const anew: Conversations = { ...shape, users: 5 }

/**
 * The time to the first token of a later turn, with half as many more conversations than sequences. `npm run
 * conversations` measures this in more detail.
 */
export async function measureConversations(
  { title }: Measured,
  contestants: readonly Answering[],
  { parallel }: ModelRun,
  report: Report,
): Promise<Aim[]> {
  const users = Math.ceil(1.5 * parallel)
  const rows: { name: string; ms: number[] }[] = []
  for (const one of contestants) {
    const isHeddle = one.name === 'heddle'
    const fields = (user: number) => (isHeddle ? { cache_salt: `talk ${user}` } : {})
    rows.push({ name: one.name, ms: await firstTokens(one, { ...shape, users }, fields) })
    if (!isHeddle) continue
    const salted = (user: number, turn: number) => ({ cache_salt: `anew ${user} ${turn}` })
    rows.push({ name: 'heddle, read anew', ms: await firstTokens(one, anew, salted) })
  }
  const [mine, all] = ['heddle', 'heddle, read anew'].map(
    (name) => rows.find((row) => row.name === name)?.ms ?? [],
  )
  report.say(
    `${users} conversations over ${parallel} sequences, one after the other: milliseconds to the first token, median of the turn`,
  )
  report.say(
    table(
      ['', ...Array.from({ length: turns }, (_, turn) => `turn ${turn + 1}`)],
      rows.map(({ name, ms }) => [name, ...ms.map(shown)]),
    ),
  )
  const later = mine?.slice(1).map((ms, turn) => ms / (all?.[turn + 1] ?? Number.NaN)) ?? []
  return [boundOf(`${title}, first token of a turn from the second on, of reading anew`, 0.15, later)]
}
