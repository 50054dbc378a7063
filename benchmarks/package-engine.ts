import { type BatchItem, getLlama, type LlamaContextSequence, type Token } from 'node-llama-cpp'

/**
 * The best that the public classes of node-llama-cpp make of a model: one batch for all running sequences, which wait for
 * each other.
 */
export interface PackageQuestion {
  prompts: number[][]
  tokens: number
}

export interface PackageAnswer {
  ms: number
  /** Milliseconds until the first token of each. */
  first: number[]
}

const [file = '', threads = '1', context = '4096'] = process.argv.slice(2)
const mostTurns = 50
let running = 0
let turns = 0

const llama = await getLlama({ gpu: false, build: 'never', progressLogs: false })
const model = await llama.loadModel({ modelPath: file, gpuLayers: 0 })
const made = await model.createContext({
  sequences: 8,
  contextSize: Number(context),
  batchSize: 512,
  threads: Number(threads),
  flashAttention: true,
  batching: {
    itemPrioritizationStrategy({ items, size }) {
      if (items.length < running && turns++ < mostTurns) return []
      turns = 0
      let room = size
      return items
        .toSorted((one, other) => one.tokens.length - other.tokens.length)
        .map((item: BatchItem) => {
          const processAmount = Math.min(room, item.tokens.length)
          room -= processAmount
          return { item, processAmount }
        })
        .filter(({ processAmount }) => processAmount > 0)
    },
  },
})
const sequences = Array.from({ length: 8 }, () => made.getSequence())

/** Returns the time of the first token. */
async function run(sequence: LlamaContextSequence, prompt: number[], tokens: number): Promise<number> {
  const given = prompt as Token[]
  let first = Number.NaN
  await sequence.adaptStateToTokens(given, false)
  const rest = given.slice(sequence.nextTokenIndex)
  let count = 0
  running++
  for await (const _token of sequence.evaluate(rest, { temperature: 0, yieldEogToken: true })) {
    if (count === 0) first = performance.now()
    if (++count === tokens) break
  }
  running--
  return first
}

process.on('message', async ({ prompts, tokens }: PackageQuestion) => {
  const since = performance.now()
  const firsts = await Promise.all(
    prompts.map((prompt, i) => {
      const sequence = sequences[i]
      if (sequence === undefined) throw new Error(`there are ${sequences.length} sequences`)
      return run(sequence, prompt, tokens)
    }),
  )
  const ms = performance.now() - since
  process.send?.({ ms, first: firsts.map((at) => at - since) } satisfies PackageAnswer)
})
process.on('disconnect', () => process.exit())
process.send?.({ ms: 0, first: [] } satisfies PackageAnswer)
