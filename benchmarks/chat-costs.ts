import { type Aim, boundOf } from './aims.ts'
import type { Heddle } from './chat-contestants.ts'
import { inTurn, type Measured, promptsOf } from './chat-rounds.ts'
import { shortPrompt } from './chat-speeds.ts'
import { idleConnections } from './event-streams.ts'
import { shownSpread, spreadOf, table } from './figures.ts'
import type { Report } from './report.ts'

const costStreams = 4
const idle = 64

interface Kind {
  name: string
  speeds: number[]
  measure(): Promise<number>
}

/** How much speed some features cost: the share of the tokens per second that is lost. */
export async function measureCosts(
  { title, rounds, tokens, isToRun }: Measured,
  { ask, address }: Heddle,
  report: Report,
): Promise<Aim[]> {
  const speed = async (fields: Record<string, unknown>) => {
    const { ms } = await ask({ prompts: promptsOf(costStreams, shortPrompt), tokens, fields })
    return (costStreams * tokens * 1000) / ms
  }
  const plain: Kind = { name: 'nothing', speeds: [], measure: () => speed({}) }
  const logprobs: Kind = { name: 'logprobs, 5 candidates', speeds: [], measure: () => speed({ logprobs: 5 }) }
  const others: Kind[] = [
    { name: 'logit_bias, 1 token', speeds: [], measure: () => speed({ logit_bias: { 300: -1 } }) },
    {
      name: `${idle} idle connections`,
      speeds: [],
      async measure() {
        const close = await idleConnections(address, idle)
        try {
          return await speed({})
        } finally {
          close()
        }
      },
    },
  ]
  const kinds = [plain, logprobs, ...others]
  for (let round = 0; isToRun(round, 2 * rounds); round++) {
    for (const kind of inTurn(kinds, round)) kind.speeds.push(await kind.measure())
  }
  const cost = ({ speeds }: Kind) => speeds.map((one, round) => 1 - one / (plain.speeds[round] ?? Number.NaN))
  report.say(`What things cost, ${costStreams} streams of heddle:`)
  report.say(
    table(
      ['with', 'generated tokens/s', 'share that is lost'],
      kinds.map((kind) => [
        kind.name,
        shownSpread(spreadOf(kind.speeds)),
        kind === plain ? '0' : shownSpread(spreadOf(cost(kind))),
      ]),
    ),
  )
  return [boundOf(`${title}, share that 5 logprobs cost`, 0.15, cost(logprobs))]
}
