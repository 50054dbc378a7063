// How right decisions are, how far from the truth their probabilities, before and after a calibration with 300 labels, and
// what the order of choices does: `node benchmarks/decision-accuracy.ts HELD-OUT.jsonl [--model FILE]`. The questions are
// those of models/builtin/make/prepare.py, in the form in which src/inference/decisions asks them.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { createEmbeddedBackend, prepareModel } from '../packages/engine/index.ts'
import { calibrated, fitted, type Labelled, shiftedOptions } from '../src/domain/statistics/calibration.ts'
import { binsOf, claimOf, errorOf } from '../src/domain/statistics/reliability.ts'
import type { DecisionAnswer, DecisionOption, DecisionQuestion } from '../src/inference/decisions/decision.ts'
import { divider } from '../src/inference/decisions/wording.ts'
import { localModels } from '../src/inference/local-model.ts'
import type { Model } from '../src/inference/model.ts'
import { spreadOf, table } from './figures.ts'

interface HeldOut {
  skill: string
  messages: { role: string; content: string }[]
  expect: { any: [string] }
}

interface Asked {
  input: string
  instructions: string[]
  question: DecisionQuestion
  truth: number
}

const { values: options, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    model: {
      type: 'string',
      default: fileURLToPath(new URL('../models/builtin/heddle-tiny.gguf', import.meta.url)),
    },
  },
})
const labels = 300
const { signal } = new AbortController()
const pause = () => undefined

function askedIn({ messages, expect }: HeldOut): Asked {
  const [system = '', user = ''] = messages.map(({ content }) => content)
  const cut = user.lastIndexOf(divider)
  const [text = '', ...lines] = user.slice(cut + divider.length).split('\n')
  const named = lines.map((line) => line.split(': ') as [label: string, name: string])
  const kind = named.length === 0 ? 'predicate' : named[0]?.[0] === '0' ? 'score' : 'choice'
  const shown = kind === 'predicate' ? [['yes'], ['no']] : named
  return {
    input: user.slice(0, cut),
    instructions: system.split('\n\n').slice(1),
    question: {
      kind,
      field: 'questions.0',
      text,
      options: shown.map((names) => ({ name: names.at(-1) ?? '' })),
    },
    truth: shown.findIndex(([label]) => label === expect.any[0]),
  }
}

const { plan } = await prepareModel(options.model, {
  ...{ model: options.model, model_name: [], context: 2_048, parallel: 2, threads: 1, gpu: 'off' },
  ...{ gpu_layers: 'auto', batch: 0, memory_check: true, queue: 8, priority: false, speculation: false },
})
const engine = createEmbeddedBackend(plan, { debug() {}, info() {}, warn() {}, error() {} })
const models = localModels(engine)
const model = models.all[0] as Model
while (engine.status().state === 'starting') await new Promise((resolve) => setTimeout(resolve, 50))

async function decided({ input, instructions, question }: Asked, orders: number): Promise<DecisionAnswer> {
  const common = { tenant: '', priority: 0, body: {} }
  const asked = { ...common, instructions, input, questions: [question], orders }
  return (await model.decide(asked, () => {}, signal))[0] as DecisionAnswer
}

const isRight = ({ probabilities, truth }: Labelled) =>
  probabilities.indexOf(Math.max(...probabilities)) === truth
const shareOf = (flags: readonly boolean[]) =>
  `${((100 * flags.filter(Boolean).length) / flags.length).toFixed(1)} %`
const eceOf = (rows: readonly Labelled[], isPredicate: boolean) =>
  errorOf(binsOf(rows.map((row) => claimOf(row, isPredicate)))).toFixed(3)

const held = readFileSync(positionals[0] ?? '', 'utf8')
  .split('\n')
  .filter(Boolean)
  .map((line) => JSON.parse(line) as HeldOut)
const asked = held.filter(({ skill }) => skill === 'decisions').map(askedIn)
const labelled = new Map<Asked, Labelled>()
for (const item of asked) {
  const { probabilities = [] } = await decided(item, 1)
  labelled.set(item, { probabilities, truth: item.truth })
}

const rows: string[][] = []
for (const [kind, name] of [
  ['predicate', 'yes or no'],
  ['choice', 'one of 2 to 6'],
  ['score', 'a level of 3 or 5'],
] as const) {
  const all = asked
    .filter(({ question }) => question.kind === kind)
    .map((item) => labelled.get(item) as Labelled)
  const [known, others] = [all.slice(0, labels), all.slice(labels)]
  const isPredicate = kind === 'predicate'
  const map = await fitted(known, { shifted: shiftedOptions(known, isPredicate) }, pause)
  const after = others.map((row) => ({ ...row, probabilities: calibrated(map, row.probabilities) }))
  rows.push([
    ...[name, String(others.length), shareOf(others.map(isRight)), eceOf(others, isPredicate)],
    ...[shareOf(after.map(isRight)), eceOf(after, isPredicate)],
  ])
}
console.log(
  table(
    ['questions', 'measured on', 'right', 'ECE', `right with ${labels} labels`, `ECE with ${labels} labels`],
    rows,
  ),
)

const choices = asked.filter(({ question }) => question.kind === 'choice').slice(0, 400)
const ofOrders: string[][] = []
for (const orders of [1, 2, 4]) {
  const answers: Labelled[] = []
  const moved: number[] = []
  let turned = 0
  for (const item of choices) {
    const { probabilities = [] } = await decided(item, orders)
    // The same options, the first given last.
    const [first, ...rest] = item.question.options
    const turnedItem = {
      ...item,
      question: { ...item.question, options: [...rest, first as DecisionOption] },
    }
    const { probabilities: others = [] } = await decided(turnedItem, orders)
    const other = [others.at(-1) as number, ...others.slice(0, -1)]
    moved.push(
      Math.max(...probabilities.map((probability, index) => Math.abs(probability - (other[index] ?? 0)))),
    )
    const likeliest = (of: readonly number[]) => of.indexOf(Math.max(...of))
    if (likeliest(probabilities) !== likeliest(other)) turned++
    answers.push({ probabilities, truth: item.truth })
  }
  const { median, most } = spreadOf(moved)
  const others = `${((100 * turned) / choices.length).toFixed(1)} %`
  ofOrders.push([
    String(orders),
    shareOf(answers.map(isRight)),
    eceOf(answers, false),
    median.toFixed(3),
    most.toFixed(3),
    others,
  ])
}
console.log(
  `\n${table(['orders', 'right', 'ECE', 'moved by another order, median', 'most', 'other answers'], ofOrders)}`,
)
await models.close()
