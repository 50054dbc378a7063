import { type Aim, boundOf } from './aims.ts'
import type { Answering, ModelRun } from './chat-contestants.ts'
import { beside, inTurn, type Measured, promptsOf } from './chat-rounds.ts'
import type { Question } from './event-streams.ts'
import { shownSpread, spreadOf, table } from './figures.ts'
import type { Report } from './report.ts'

const prefixTokens = 2000

/** Two consecutive requests whose prompts begin with the same tokens and end with different ones. */
export async function measurePrefix(
  { title, rounds, isToRun }: Measured,
  contestants: readonly Answering[],
  run: ModelRun,
  report: Report,
): Promise<Aim[]> {
  const length = Math.min(prefixTokens, run.context - 8)
  const waits = contestants.map(({ name }) => ({ name, first: [] as number[], second: [] as number[] }))
  for (let round = 0; isToRun(round, rounds); round++) {
    const [prefix = []] = promptsOf(1, length)
    for (const { name, ask } of inTurn(contestants, round)) {
      const wait = waits.find((one) => one.name === name)
      const waited = async (end: number[]) => {
        const question: Question = { prompts: [[...prefix, ...end]], tokens: 1 }
        if (name === 'heddle') question.fields = { cache_salt: `prefix ${round}` }
        return (await ask(question)).first[0] ?? Number.NaN
      }
      wait?.first.push(await waited([301, 302, 303]))
      wait?.second.push(await waited([304, 305, 306]))
    }
  }
  const ratio = ({ first, second }: (typeof waits)[number]) => beside(second, first)
  report.say(`Milliseconds until the first token of two requests that begin with the same ${length} tokens:`)
  report.say(
    table(
      ['contestant', 'first request', 'second', 'second of first'],
      waits.map((wait) => [
        wait.name,
        shownSpread(spreadOf(wait.first)),
        shownSpread(spreadOf(wait.second)),
        shownSpread(spreadOf(ratio(wait))),
      ]),
    ),
  )
  const mine = waits.filter(({ name }) => name === 'heddle')
  return mine.map((wait) =>
    boundOf(`${title}, second first token of the first, same ${length} tokens`, 0.1, ratio(wait)),
  )
}
