import * as weave from 'weave'

const client = await weave.init(process.env.PROJECT as string)

const logger = new weave.EvaluationLogger({
  name: 'by hand',
  dataset: 'capitals',
  model: { name: 'guesser' },
  attributes: { experiment: { arm: 'b', run: 3 } },
})
for (const [country, capital, guess] of [
  ['France', 'Paris', 'Paris'],
  ['Japan', 'Tokyo', 'Kyoto'],
] as const) {
  const prediction = await logger.logPredictionAsync({ country, capital }, { guess, confidence: 0.75 })
  await prediction.logScore('exact', guess === capital)
  await prediction.logScore('distance', guess === capital ? 0 : 363.8)
  await prediction.logScore('judge', { passed: guess === capital, note: 'naïve – “très” bien' })
  await prediction.finish()
}
// These are not awaited: they are done by the time the summary is.
const last = logger.logPrediction({ country: 'Italy', capital: 'Rome' }, null)
last.logScore('exact', false)
last.finish()
await logger.logSummary()
await client.waitForBatchProcessing()

const calls = await client.getCalls({ trace_roots_only: true })
const done = { rootIds: calls.map(({ id }) => id as string) }
export type Done = typeof done
console.log(JSON.stringify(done))
