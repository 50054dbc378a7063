import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { cpus } from 'node:os'
import { EngineError } from './errors.ts'
import { sentEvent } from './events/sent-events.ts'
import { checkTokens } from './loop/checks.ts'
import { createLoop, type Loop } from './loop/loop.ts'
import { digestOfFile } from './models/file-digest.ts'
import { loadModel, type NativeContext, type NativeModel } from './native/native.ts'
import { openPooling } from './pooling/engine.ts'
import type { PoolingRequest } from './pooling/request.ts'
import type { DiskCacheOptions } from './prompt-cache/prompt-cache.ts'
import { createStateFiles } from './prompt-cache/state-files.ts'
import type { Answer, EngineOptions, Question } from './protocol.ts'

/** The engine process: loads one model and answers the server's questions until the server closes it or is gone. */
function say(answer: Answer): void {
  // The channel is closed when the server is gone, and then this process ends.
  if (process.connected) process.send?.(answer)
}

interface Engine {
  model: NativeModel
  work: Pick<Loop, 'run' | 'stop' | 'load' | 'leave'>
  /** For a model that generates text. */
  generate?: Loop['add']
  /** For a model that pools. */
  pool?(id: number, request: PoolingRequest): Promise<void>
  close(): Promise<void>
}

let engine: Engine | undefined

async function openEngine(model: NativeModel, options: EngineOptions): Promise<Engine> {
  if (options.task !== 'answers') {
    return openPooling(model, options, {
      pooled: (id, pooled, isLast) => say({ kind: 'pooled', id, pooled, isLast, load: loadOf(engine) }),
      changed: () => say({ kind: 'happened', events: [], load: loadOf(engine) }),
      refused: refuse,
    })
  }
  const context = await model.openContext({
    ...options,
    sequences: options.parallel,
    keeps: options.promptCache > 0 || options.promptDisk !== undefined,
  })
  const disk = await diskOf(options, model, context)
  const loop = createLoop(
    model,
    context,
    { ...options, disk },
    {
      happened: (events) =>
        say({
          kind: 'happened',
          events: events.map(([id, event]) => [id, sentEvent(event)]),
          load: loop.load(),
        }),
      refused: refuse,
    },
  )
  return { model, work: loop, generate: loop.add, close: () => context.close() }
}

/** Where prompts are kept on disk, if the states of this model can be. */
async function diskOf(
  options: EngineOptions,
  { engine }: NativeModel,
  context: NativeContext,
): Promise<DiskCacheOptions | undefined> {
  const { promptDisk } = options
  if (promptDisk === undefined || context.bytesOfToken === undefined) return undefined
  const { folder, bound } = promptDisk
  const fingerprint = await fingerprintOf(options, { engine, hasPlainAttention: context.hasPlainAttention })
  const files = createStateFiles({ context, folder, fingerprint, say: (line) => console.error(line) })
  return { files, bound, longest: options.context, keyOf: (key = '') => hashOf(fingerprint + key) }
}

/** Increased when the format of the files changes, or how states are computed. */
const form = 4

/**
 * Identifies the model, engine and settings by which a state was computed: with any others the same tokens have a
 * different state.
 */
async function fingerprintOf(
  { file, adapters, context, kv, gpu, gpuLayers }: EngineOptions,
  { engine, hasPlainAttention }: { engine: string; hasPlainAttention: boolean },
): Promise<string> {
  const hash = createHash('sha256')
  const settings = {
    context,
    kv,
    gpu,
    gpuLayers,
    hasPlainAttention,
    adapters: adapters.map(({ name }) => name),
  }
  const machine = [process.arch, cpus()[0]?.model]
  hash.update(JSON.stringify([form, engine, machine, settings]))
  for (const path of [file, ...adapters.map((adapter) => adapter.file)]) {
    hash.update(JSON.stringify([(await stat(path)).mtimeMs, await digestOfFile(path)]))
  }
  return hash.digest('hex').slice(0, 32)
}

const hashOf = (text: string) => createHash('sha256').update(text).digest('hex')

const loadOf = (engine: Engine | undefined) => engine?.work.load() ?? { running: 0, waiting: 0, batchMs: 0 }

async function load(options: EngineOptions): Promise<void> {
  let reported = 0
  try {
    const loading = (share: number) => {
      if (share - reported < 0.01) return
      reported = share
      say({ kind: 'loading', share })
    }
    const model = await loadModel(options.file, loading, options)
    engine = await openEngine(model, options)
    const { vocabulary, controlTokens, parameters, bytes, dimensions, template, tokens, maxTokenSize } = model
    const { infill } = model
    const about = { vocabulary: vocabulary.size, controlTokens, parameters, bytes, template, tokens }
    const facts = { ...about, ...(infill && { infill }) }
    say({
      kind: 'loaded',
      model: { ...facts, ...(options.task === 'embeddings' && { dimensions }) },
      maxTokenSize,
    })
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    process.send?.({ kind: 'unloadable', reason } satisfies Answer, () => process.exit(1))
    return
  }
  await engine.work.run()
  await engine.close()
  process.exit()
}

function refuse(id: number, reason: unknown): void {
  if (reason instanceof EngineError) {
    say({ kind: 'refused', id, code: reason.code, values: reason.values })
    return
  }
  console.error(reason)
  say({ kind: 'refused', id, code: 'engine_failed', values: { why: 'an error, which is in the log' } })
}

function answer(question: Question): void {
  switch (question.kind) {
    case 'load':
      load(question.options).catch((error: unknown) => {
        // A batch has failed: the state of the context is unknown. The server starts another process.
        console.error(error)
        process.exit(1)
      })
      return
    case 'ping':
      say({
        kind: 'pong',
        load: loadOf(engine),
        bytes: process.memoryUsage.rss(),
      })
      return
    case 'close':
      if (engine === undefined) process.exit()
      engine.work.stop()
      return
    default:
      if (engine !== undefined) answerWith(engine, question)
  }
}

function answerWith(
  { model, work, generate, pool }: Engine,
  question: Exclude<Question, { kind: 'load' | 'ping' | 'close' }>,
) {
  const { id } = question
  try {
    switch (question.kind) {
      case 'tokenize':
        model.tokenizeInTurns(question.text, question).then(
          (tokens) => say({ kind: 'tokens', id, tokens }),
          (error: unknown) => refuse(id, error),
        )
        return
      case 'detokenize':
        checkTokens('tokens', question.tokens, model.vocabulary.size)
        say({ kind: 'text', id, text: model.detokenize(question.tokens, question) })
        return
      case 'generate':
        if (generate === undefined) throw new Error('a model that pools writes no text')
        say({ kind: 'accepted', id, promptTokens: Array.from(generate(id, question.generation)) })
        return
      case 'pool':
        if (pool === undefined) throw new Error('a model that writes does not pool')
        pool(id, question.request).catch((error: unknown) => refuse(id, error))
        return
      case 'leave':
        work.leave(id)
    }
  } catch (error) {
    refuse(id, error)
  }
}

process.on('message', answer)
// Terminals and service managers send these to all processes of the server at once; running requests get their grace
// period there.
process.on('SIGINT', () => {})
process.on('SIGTERM', () => {})
// The server is gone. An orderly exit would wait for the batch, and nobody is left to end a batch that hangs.
process.on('disconnect', () => process.kill(process.pid, 'SIGKILL'))
