import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import {
  createEmbeddedBackend,
  type EmbeddedBackend,
  type Generation,
  type GenerationEvent,
  type ModelPlan,
  plainSampling,
  type Run,
  type Supervision,
  usualSupervision,
} from '../../../packages/engine/index.ts'
import { withRefusals } from '../../../src/inference/engine-refusals.ts'
import { plainPlan } from '../../support/model-plan.ts'
import { type RandomModelShape, writeRandomModel } from '../../support/random-model.ts'
import { until } from '../../support/wait.ts'

export interface EngineSetting {
  plan?: Partial<ModelPlan>
  supervision?: Partial<Supervision>
  shape?: Partial<RandomModelShape>
}

/**
 * The weights of this model give the same sums in batches of every size, so that tokens can be compared. It runs on one
 * thread, because two that wait for each other on a busy machine take a thousand times as long. Rows of 32 values would
 * be one block of Q8_0, for which llama.cpp's kernels for AMX give no numbers.
 */
export async function startEngine(
  t: TestContext,
  { plan = {}, supervision = {}, shape = {} }: EngineSetting = {},
): Promise<EmbeddedBackend> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-engine-'))
  const file = plan.file ?? join(folder, 'random.gguf')
  if (plan.file === undefined) await writeRandomModel(file, { weights: 'q8_0', hidden: 64, ...shape })
  const watching = { ...usualSupervision, ...supervision }
  const backend = withRefusals(createEmbeddedBackend(plainPlan(file, plan), quiet, watching))
  t.after(async () => {
    await backend.close()
    await rm(folder, { recursive: true })
  })
  await until('the engine has loaded its model, or cannot', () => backend.status().state !== 'starting')
  return backend
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

export interface GenerationSetting extends Partial<Omit<Generation, 'sampling' | 'ending' | 'prompt'>> {
  sampling?: Partial<Generation['sampling']>
  ending?: Partial<Generation['ending']>
}

/** Ends by its length alone, unless stated otherwise. */
export function generationOf(
  prompt: string | number[],
  { sampling = {}, ending = {}, ...others }: GenerationSetting = {},
): Generation {
  return {
    prompt: typeof prompt === 'string' ? { text: prompt, special: true, add: false } : { tokens: prompt },
    choices: 1,
    sampling: { ...plainSampling, seed: 1n, ...sampling },
    ending: {
      maxTokens: 16,
      minTokens: 0,
      stop: [],
      stopTokens: [],
      ignoreEos: true,
      includeStop: false,
      ...ending,
    },
    text: { skipSpecial: true, spaceSpecial: false },
    priority: 0,
    ...others,
  }
}

export interface WholeRun {
  promptTokens: number[]
  prefilled: Extract<GenerationEvent, { kind: 'prefilled' }>
  /** By choice. */
  tokens: number[][]
  texts: string[]
  finished: Extract<GenerationEvent, { kind: 'finished' }>[]
}

/** Reads a run to its end. */
export async function wholeRun(run: Run): Promise<WholeRun> {
  const tokens: number[][] = []
  const texts: string[] = []
  const finished: WholeRun['finished'] = []
  let prefilled: WholeRun['prefilled'] | undefined
  for (const event of (await Array.fromAsync(run.events)).flat()) {
    if (event.kind === 'prefilled') {
      prefilled = event
    } else if (event.kind === 'finished') {
      finished[event.choice] = event
    } else {
      tokens[event.choice] = [...(tokens[event.choice] ?? []), ...event.tokens]
      texts[event.choice] = (texts[event.choice] ?? '') + event.text
    }
  }
  if (prefilled === undefined) throw new Error('the prompt was never read')
  return { promptTokens: run.promptTokens, prefilled, tokens, texts, finished }
}

export async function generate(
  backend: EmbeddedBackend,
  prompt: string | number[],
  setting?: GenerationSetting,
): Promise<WholeRun> {
  return wholeRun(await backend.generate(generationOf(prompt, setting), new AbortController().signal))
}

/** Reads on until this choice, or any, has at least this many tokens. */
export async function readTokens(events: AsyncIterator<GenerationEvent[]>, count: number): Promise<void> {
  let seen = 0
  while (seen < count) {
    const { value, done } = await events.next()
    if (done === true) throw new Error(`the run ended after ${seen} tokens`)
    for (const event of value) if (event.kind === 'tokens') seen += event.tokens.length
  }
}
