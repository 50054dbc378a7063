import * as weave from 'weave'

const client = await weave.init(process.env.PROJECT as string)

type Row = { country: string; capital: string }
type Judged = { datasetRow: Row; modelOutput: string }

const dataset = new weave.Dataset<Row>({
  name: 'capitals',
  rows: [
    { country: 'France', capital: 'Paris' },
    { country: 'Japan', capital: 'Tokyo' },
    { country: 'Italy', capital: 'Rome' },
  ],
})
const capital = weave.op(
  async function capital({ datasetRow }: { datasetRow: Row }) {
    if (datasetRow.country === 'Italy') throw new Error('Italy is not on the map')
    return 'Paris'
  },
  {
    summarize: () => ({ usage: { 'tiny-llm': { prompt_tokens: 5, completion_tokens: 2, total_tokens: 7 } } }),
  },
)
const exactMatch = weave.op(({ datasetRow, modelOutput }: Judged) => modelOutput === datasetRow.capital, {
  name: 'exactMatch',
})
const lengthScore = weave.op(({ modelOutput }: Judged) => modelOutput.length, { name: 'lengthScore' })
const judge = weave.op(
  ({ datasetRow, modelOutput }: Judged) => {
    const passed = modelOutput === datasetRow.capital
    return { passed, score: passed ? 1 : 0.25, note: passed ? 'right' : `not ${datasetRow.capital}` }
  },
  { name: 'judge' },
)

const evaluation = new weave.Evaluation({
  name: 'capitals of the world',
  dataset,
  scorers: [exactMatch, lengthScore, judge],
})
const evaluate = evaluation.evaluate as weave.Op<typeof evaluation.evaluate>
const [summary, root] = await evaluate.invoke({ model: capital, nTrials: 2 })
await client.waitForBatchProcessing()

const done = { rootId: root.id as string, summary }
export type Done = typeof done
console.log(JSON.stringify(done))
