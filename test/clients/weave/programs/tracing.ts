import { setTimeout as sleep } from 'node:timers/promises'
import * as weave from 'weave'

const client = await weave.init(process.env.PROJECT as string, { globalAttributes: { team: 'loom' } })

const rows = [
  { country: 'France', capital: 'Paris', area: 105.4, tags: ['big', 'old'] },
  { country: 'Japan', capital: '東京', area: 2194.07, tags: [] },
  { country: 'France', capital: 'Paris', area: 105.4, tags: ['big', 'old'] },
  {
    country: 'Nauru',
    capital: null,
    'a.b': { '': 'empty key', deep: [[[1]]] },
    note: 'none 🏝️ "quoted" \\ \n',
  },
]
const dataset = new weave.Dataset({ name: 'Capitals, of the world', description: 'with a row twice', rows })
const datasetRef = await dataset.save()

const numbers = {
  largest: Number.MAX_VALUE,
  smallest: Number.MIN_VALUE,
  whole: 123456789012345680000,
  unsafe: 2 ** 53 + 2,
  long: 0.1 + 0.2,
  minusZero: -0,
  exponent: 1e-7,
}

const square = weave.op(async function square(n: number) {
  await sleep(1)
  return n * n
})
const named = weave.op((text: string) => text.toUpperCase(), {
  name: 'named',
  callDisplayName: (text) => `shouting “${text}”`,
})
const divide = weave.op(
  (dividend: number, divisor: number) => {
    if (divisor === 0) throw new Error(`${dividend} cannot be divided by 0 – Größe 🧮`)
    return dividend / divisor
  },
  { name: 'divide', parameterNames: ['dividend', 'divisor'] },
)
const describe = weave.op(
  ({ row, known }: { row: Record<string, unknown>; known: boolean }) => ({ country: row.country, known }),
  { name: 'describe.row', parameterNames: 'useParam0Object' },
)
async function* countdown(from: number) {
  for (let i = from; i > 0; i--) yield i
}
const streamed = weave.op(countdown, {
  name: 'streamed',
  streamReducer: {
    initialStateFn: () => ({ chunks: [] as number[], total: 0 }),
    reduceFn: ({ chunks, total }, chunk: number) => ({ chunks: [...chunks, chunk], total: total + chunk }),
    finalizeFn: () => undefined,
  },
  summarize: () => ({ counted: { down: 1 } }),
})

class Scale extends weave.WeaveObject {
  readonly factor = 2.5
  readonly apply = weave.op(this, this.#apply, { name: 'Scale.apply' })
  #apply(n: number) {
    return n * this.factor
  }
}
const scale = new Scale({ name: 'scale', description: 'by a factor' })

const parse = weave.op((text: string) => JSON.parse(text), { name: 'parse' })
const nothing = weave.op(() => undefined, { name: 'nothing' })
const outer = weave.op(async function outer(_input: Record<string, unknown>) {
  const squares = await Promise.all([1, 2, 3].map((n) => square(n)))
  const failure = await Promise.resolve(divide(1, 0)).catch((error: Error) => error.message)
  // The message quotes the first half of the surrogate pair.
  await parse('👋 {}').catch(() => undefined)
  const chunks: number[] = []
  for await (const chunk of (await streamed(3)) as unknown as AsyncIterable<number>) chunks.push(chunk)
  const row = await weave.withAttributes({ inner: { depth: 2 } }, () =>
    describe({ row: dataset.getRow(1), known: true }),
  )
  await nothing()
  return { squares, failure, chunks, row, scaled: await scale.apply(4), loud: await named('hello'), numbers }
})

const [output, rootCall] = await weave.withAttributes(
  { environment: 'test', seed: 9007199254740991, ratio: 0.30000000000000004 },
  () =>
    outer.invoke({ numbers, missing: undefined, notANumber: Number.NaN, nothing: null, when: new Date(0) }),
)
const failed = await Promise.resolve(divide(7, 0)).then(
  () => 'no error',
  (error: Error) => error.message,
)

await client.waitForBatchProcessing()
await rootCall.setDisplayName('the whole of it')

const greet = weave.op((name: string) => `hello ${name}`, { name: 'greet' })
const [, early] = await greet.invoke('you')
// Without waiting: this request overtakes the batch that contains the call.
await early.setDisplayName('renamed before it was sent')

await client.waitForBatchProcessing()
const done = {
  dataset: datasetRef.uri(),
  rootId: rootCall.id as string,
  earlyId: early.id as string,
  output,
  failed,
}
export type Done = typeof done
console.log(JSON.stringify(done))
