import { setTimeout as sleep } from 'node:timers/promises'
import { type Aim, aimOf, boundOf } from './aims.ts'
import type { ModelRun, Served } from './chat-contestants.ts'
import { beside, inTurn, type Measured, promptsOf } from './chat-rounds.ts'
import { shortPrompt } from './chat-speeds.ts'
import { watched } from './event-streams.ts'
import { quantile, shownSpread, sorted, spreadOf, table } from './figures.ts'
import type { Report } from './report.ts'

const writers = 8
const promptTokens = 4000
/** Sent one after the other, so that one is being computed at any time. */
const prompts = 2
const mostRounds = 3
const longestStart = 60_000

interface Beside {
  name: string
  /** Milliseconds between two pieces of an answer as they arrive, 99th percentile, for each round. */
  gap: number[]
  longest: number[]
  /** Prompt tokens per second. */
  prompt: number[]
}

/** How long running answers pause while long prompts are computed, and how much the answers slow the prompts down. */
export async function measureMixed(
  { title, rounds, isToRun }: Measured,
  contestants: readonly Served[],
  run: ModelRun,
  report: Report,
): Promise<Aim[]> {
  const length = Math.min(promptTokens, run.context - 8)
  const all: Beside[] = contestants.map(({ name }) => ({ name, gap: [], longest: [], prompt: [] }))
  for (let round = 0; isToRun(round, Math.min(rounds, mostRounds)); round++) {
    for (const one of inTurn(contestants, round)) {
      const mine = all.find(({ name }) => name === one.name)
      const { gaps, perSecond } = await oneRound(one, run, length)
      const ascending = sorted(gaps)
      mine?.gap.push(quantile(ascending, 0.99))
      mine?.longest.push(ascending.at(-1) ?? Number.NaN)
      mine?.prompt.push(perSecond)
    }
  }
  report.say(
    `${writers} answers are written while prompts of ${length} tokens are read, one after the other:`,
  )
  report.say(
    table(
      ['contestant', 'between two pieces of an answer, p99 ms', 'longest', 'prompt tokens/s'],
      all.map(({ name, gap, longest, prompt }) => [
        name,
        ...[gap, longest, prompt].map((figures) => shownSpread(spreadOf(figures))),
      ]),
    ),
  )
  const [mine, server] = ['heddle', 'llama-server'].map((name) => all.find((one) => one.name === name))
  if (mine === undefined || server === undefined) return []
  const name = `${title}, ${writers} writers beside prompts of ${length} tokens`
  return [
    boundOf(`${name}, p99 between two pieces of llama-server`, 1, beside(mine.gap, server.gap)),
    aimOf(`${name}, prompt tokens/s of llama-server`, 1, beside(mine.prompt, server.prompt)),
  ]
}

async function oneRound({ address, headers, ask }: Served, run: ModelRun, length: number) {
  const tokens = run.context - shortPrompt - 8
  const streams = promptsOf(writers, shortPrompt).map((prompt) => watched(address, headers, prompt, tokens))
  try {
    const deadline = performance.now() + longestStart
    while (streams.some(({ times }) => times.length < 3)) {
      for (const { failed } of streams) if (failed()) throw failed()
      if (performance.now() > deadline) throw new Error(`${address}: no answer in ${longestStart} ms`)
      await sleep(5)
    }
    const since = performance.now()
    for (const prompt of promptsOf(prompts, length)) await ask({ prompts: [prompt], tokens: 1 })
    const end = performance.now()
    const gaps = streams.flatMap(({ times }) =>
      times.flatMap((at, index) => {
        const before = times[index - 1]
        return before !== undefined && at > since && before < end ? [at - before] : []
      }),
    )
    if (streams.some(({ isOver }) => isOver())) throw new Error(`${address}: an answer was over too soon`)
    return { gaps, perSecond: (prompts * length * 1000) / (end - since) }
  } finally {
    await Promise.all(streams.map(({ stop }) => stop()))
  }
}
