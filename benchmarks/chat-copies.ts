import { type Aim, aimOf } from './aims.ts'
import type { Heddle, Served } from './chat-contestants.ts'
import { beside, inTurn, type Measured } from './chat-rounds.ts'
import { shownSpread, spreadOf, table } from './figures.ts'
import type { Report } from './report.ts'

const story =
  'Once upon a time there was a brave sheep called Mila. Mila lived in a valley. One morning the wind was cold, and Mila found a ' +
  'purple mountain. "Whose mountain is this?" asked Mila. "It is mine," said a horse, "but I will gladly share it." So the sheep ' +
  'and the horse carried the mountain home together. They shared a warm soup and went to sleep. The end.'

const longestAnswer = 120_000

/** How fast a text is generated that the conversation already contains: with guesses, without, and by the other contestants. */
export async function measureCopies(
  { title, rounds, isToRun }: Measured,
  heddle: Heddle,
  without: Heddle,
  others: readonly Served[],
  report: Report,
): Promise<Aim[]> {
  const all = [
    { name: 'heddle', served: heddle as Served, speeds: [] as number[] },
    { name: 'heddle, HEDDLE_SPECULATION=off', served: without as Served, speeds: [] as number[] },
    ...others.map((served) => ({ name: served.name, served, speeds: [] as number[] })),
  ]
  for (const { served } of all) await toldAgain(served, -1)
  for (let round = 0; isToRun(round, rounds); round++) {
    const said = new Set<string>()
    for (const { served, speeds } of inTurn(all, round)) {
      const { text, perSecond } = await toldAgain(served, round)
      if (served === heddle || served === without) said.add(text)
      speeds.push(perSecond)
    }
    if (said.size > 1)
      throw new Error(`with guesses and without there are two answers: ${[...said].join(' | ')}`)
  }
  report.say(
    'A story of the conversation that is asked for again, 1 stream, tokens a second of the whole answer:',
  )
  const [mine, plain] = all
  report.say(
    table(
      ['contestant', 'generated tokens/s', 'of it without guesses'],
      all.map(({ name, speeds }) => [
        name,
        shownSpread(spreadOf(speeds)),
        shownSpread(spreadOf(beside(speeds, plain?.speeds ?? []))),
      ]),
    ),
  )
  return [
    aimOf(
      `${title}, a story told again, of it without guesses`,
      1.8,
      beside(mine?.speeds ?? [], plain?.speeds ?? []),
    ),
  ]
}

async function toldAgain({ address, headers }: Served, round: number) {
  const since = performance.now()
  const answer = await fetch(`${address}/v1/chat/completions`, {
    method: 'POST',
    headers: { ...headers, 'content-type': 'application/json' },
    body: JSON.stringify({
      messages: [
        { role: 'user', content: `Tell me story ${round + 2}.` },
        { role: 'assistant', content: story },
        { role: 'user', content: 'Tell me that story again.' },
      ],
      max_tokens: 256,
      temperature: 0,
    }),
    signal: AbortSignal.timeout(longestAnswer),
  })
  const text = await answer.text()
  if (!answer.ok) throw new Error(`${address}: ${answer.status} ${text.slice(0, 500)}`)
  const ms = performance.now() - since
  const { choices, usage } = JSON.parse(text) as {
    choices: [{ message: { content: string } }]
    usage: { completion_tokens: number }
  }
  return { text: choices[0].message.content, perSecond: (usage.completion_tokens * 1000) / ms }
}
