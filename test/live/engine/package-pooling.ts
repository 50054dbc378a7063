import { getLlama, LlamaLogLevel } from 'node-llama-cpp'

/**
 * Prints what the contexts of the package itself make of texts, each a list of tokens or a text: vectors, or scores of
 * documents for the first of them. It runs in a process of its own, because each process has one engine.
 */
const [file = '', kind = '', given = '[]'] = process.argv.slice(2)
const llama = await getLlama({
  gpu: false,
  build: 'never',
  skipDownload: true,
  progressLogs: false,
  logLevel: LlamaLogLevel.error,
})
const model = await llama.loadModel({ modelPath: file, defaultContextFlashAttention: false })
const texts = JSON.parse(given) as (string | number[])[]
const tokensOf = (text: string | number[]) => text as Parameters<typeof model.detokenize>[0] | string
const made: unknown[] = []
if (kind === 'ranking') {
  const context = await model.createRankingContext({ threads: 1, contextSize: 128, batchSize: 128 })
  const [query = '', ...documents] = texts
  for (const document of documents)
    made.push(await context.rank(tokensOf(query) as string, tokensOf(document) as string))
} else {
  const context = await model.createEmbeddingContext({ threads: 1, contextSize: 128, batchSize: 128 })
  for (const text of texts) made.push((await context.getEmbeddingFor(tokensOf(text) as string)).vector)
}
process.stdout.write(JSON.stringify(made))
process.exit()
