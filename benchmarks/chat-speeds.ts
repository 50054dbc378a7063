import { type Aim, aimOf, boundOf } from './aims.ts'
import type { Answering } from './chat-contestants.ts'
import { beside, inTurn, type Measured, promptsOf } from './chat-rounds.ts'
import { shown, shownSpread, spreadOf, table } from './figures.ts'
import type { Report } from './report.ts'

const streamCounts = [1, 2, 4, 8, 16, 32]
export const shortPrompt = 24
export const longPrompt = 256
/** With many streams, each has a shorter prompt. */
const mostPromptTokens = 2048
/** The package alone supports this many sequences. */
const mostOfPackage = 8

interface Speeds {
  name: string
  streams: number
  /** Tokens per second of all streams together, for each round. */
  prompt: number[]
  generation: number[]
  /** Milliseconds: the median of the streams of each round, and of each stream. */
  first: number[]
  every: number[]
}

/** Tokens per second with 1 to 32 streams, and the time to their first token. */
export async function measureSpeeds(
  { title, rounds, tokens, temperature, isToRun }: Measured,
  contestants: readonly Answering[],
  report: Report,
): Promise<Aim[]> {
  const all: Speeds[] = streamCounts.flatMap((streams) =>
    contestants
      .filter(({ name }) => name !== 'node-llama-cpp' || streams <= mostOfPackage)
      .map(({ name }) => ({ name, streams, prompt: [], generation: [], first: [], every: [] })),
  )
  for (let round = 0; isToRun(round, rounds); round++) {
    for (const streams of streamCounts) {
      const length = Math.min(longPrompt, mostPromptTokens / streams)
      const long = promptsOf(streams, length)
      const short = promptsOf(streams, shortPrompt)
      for (const { name, ask } of inTurn(contestants, round)) {
        const mine = all.find((one) => one.name === name && one.streams === streams)
        if (mine === undefined) continue
        const read = await ask({ prompts: long, tokens: 1 })
        const written = await ask({ prompts: short, tokens, fields: { temperature } })
        mine.prompt.push((streams * length * 1000) / Math.max(...read.first))
        mine.first.push(spreadOf(read.first).median)
        mine.every.push(...read.first)
        mine.generation.push((streams * tokens * 1000) / written.ms)
      }
    }
  }
  const rivals = contestants.map(({ name }) => name).filter((name) => name !== 'heddle')
  const of = (name: string, streams: number) =>
    all.find((one) => one.name === name && one.streams === streams)
  report.say(
    table(
      [
        'contestant',
        'streams',
        'prompt tokens/s',
        'generated tokens/s',
        ...rivals.map((name) => `of ${name}`),
        'first token ms, median',
        'worst',
      ],
      all.map((one) => [
        one.name,
        String(one.streams),
        shownSpread(spreadOf(one.prompt)),
        shownSpread(spreadOf(one.generation)),
        ...rivals.map((name) => {
          const rival = of(name, one.streams)
          if (rival === one) return '1'
          return rival ? shownSpread(spreadOf(beside(one.generation, rival.generation))) : ''
        }),
        shown(spreadOf(one.first).median),
        shown(spreadOf(one.every).most),
      ]),
    ),
  )
  return streamCounts.flatMap((streams) => {
    const mine = of('heddle', streams)
    const alone = of('node-llama-cpp', streams)
    const server = of('llama-server', streams)
    const name = (what: string) => `${title}, ${streams} stream${streams === 1 ? '' : 's'}, ${what}`
    if (mine === undefined) return []
    return [
      ...(alone
        ? [
            aimOf(
              name('generated tokens/s of node-llama-cpp'),
              0.95,
              beside(mine.generation, alone.generation),
            ),
          ]
        : []),
      ...(server
        ? [
            aimOf(name('generated tokens/s of llama-server'), 1, beside(mine.generation, server.generation)),
            aimOf(name('prompt tokens/s of llama-server'), 1, beside(mine.prompt, server.prompt)),
            boundOf(name('first token of llama-server'), 1, beside(mine.first, server.first)),
          ]
        : []),
    ]
  })
}
