import { spawn } from 'node:child_process'
import { mkdir } from 'node:fs/promises'
import { setTimeout as sleep } from 'node:timers/promises'
import { builtinModels, prepareModel, readGgufHeader } from '../packages/engine/index.ts'
import { answering, endsWithUs, freePort, start } from './contestants.ts'
import { type Question, type Streamed, streamed } from './event-streams.ts'
import { startPackage } from './package-child.ts'

/** Anything that answers prompts with tokens. */
export interface Answering {
  name: string
  ask(question: Question): Promise<Streamed>
  stop(): Promise<void>
}

export interface Served extends Answering {
  address: string
  headers: Record<string, string>
}

export interface Heddle extends Served {
  pid: number
}

/** How a model is run: the same for all contestants. */
export interface ModelRun {
  /** As in HEDDLE_MODEL. */
  source: string
  file: string
  parallel: number
  context: number
  /** As many as the server chooses by default. */
  threads: number
}

const usualParallel = 8
const mostContext = 4096
const longestStart = 60_000

export async function runOf(source: string, parallel = usualParallel): Promise<ModelRun> {
  const file = source === 'builtin' ? (await builtinModels())[0] : source
  if (file === undefined) throw new Error('this installation has no built-in model')
  const context = Math.min(mostContext, (await readGgufHeader(file)).context)
  const { plan } = await prepareModel(file, {
    model: source,
    model_name: [],
    context,
    parallel,
    threads: 0,
    gpu: 'off',
    gpu_layers: 'auto',
    batch: 0,
    memory_check: true,
    queue: parallel,
    priority: false,
  })
  return { source, file, parallel, context, threads: plan.threads }
}

/** The server as `npm start` starts it; only the sizes are set, and the settings that are compared. */
export async function startHeddle(
  run: ModelRun,
  folder: string,
  settings: Record<string, string> = {},
): Promise<Heddle> {
  await mkdir(folder, { recursive: true })
  const { address, headers, pid, stop } = await start('heddle', {
    HEDDLE_DATA: folder,
    HEDDLE_MODEL: run.source,
    HEDDLE_PARALLEL: String(run.parallel),
    HEDDLE_CONTEXT: String(run.context),
    ...settings,
  })
  const deadline = performance.now() + longestStart
  while (!(await isReady(address))) {
    if (performance.now() > deadline) throw new Error(`${run.source} was not ready in ${longestStart} ms`)
    await sleep(50)
  }
  let salt = 0
  return {
    name: 'heddle',
    address,
    pid,
    headers,
    stop,
    ask: (question) =>
      streamed(address, headers, {
        ...question,
        // The salt prevents reuse of earlier prompts, unless the question asks for it.
        fields: { cache_salt: `question ${salt++}`, ...question.fields },
      }),
  }
}

async function isReady(address: string): Promise<boolean> {
  const answer = await fetch(`${address}/ready`, { signal: AbortSignal.timeout(5_000) })
  await answer.arrayBuffer()
  return answer.ok
}

/** The public classes of node-llama-cpp at their best, without HTTP. */
export async function startPackageAlone({ file, threads, context }: ModelRun): Promise<Answering> {
  const { ask, stop } = await startPackage(file, threads, context)
  return { name: 'node-llama-cpp', stop, ask: ({ prompts, tokens }) => ask({ prompts, tokens }) }
}

/** llama-server, if a path to it is given. */
export async function startLlamaServer(command: string, run: ModelRun): Promise<Served> {
  const port = await freePort()
  const settings = {
    '--model': run.file,
    '--threads': run.threads,
    '--parallel': run.parallel,
    '--ctx-size': run.parallel * run.context,
    '--batch-size': 512,
    '--host': '127.0.0.1',
    '--port': port,
  }
  const child = spawn(command, Object.entries(settings).flat().map(String), {
    stdio: 'ignore',
  })
  const failed = new Promise<never>((_, reject) => child.once('error', reject))
  const stop = endsWithUs(child)
  const address = `http://127.0.0.1:${port}`
  await Promise.race([failed, answering(address, child)])
  return {
    name: 'llama-server',
    address,
    headers: {},
    stop,
    ask: (question) => streamed(address, {}, question),
  }
}
