import { basename } from 'node:path'
import { type GgufHeader, readGgufHeader } from './gguf-header.ts'
import { lookAtMachine } from './machine.ts'
import { ModelError } from './model-error.ts'
import { chooseSizes, type SizesGiven } from './sizes.ts'

/** A model that is there and fits, and how it is to be run: all that an engine needs to know. */
export interface ModelPlan {
  /** The path of the GGUF file. */
  file: string
  /** The value of the setting: `builtin`, a path, `hf:…`. */
  source: string
  /** The first is the name that answers carry, the others are accepted too. */
  names: string[]
  /** Tokens of one sequence. */
  context: number
  /** Sequences that run at once. */
  parallel: number
  threads: number
  /** Tokens of one step of the engine. */
  batch: number
  /** Requests that may wait. */
  queue: number
  /** Whether requests may set their priority. */
  priority: boolean
}

export interface ModelSettings extends SizesGiven {
  model: string
  model_name: readonly string[]
  queue: number
  priority: boolean
}

/** Checks that the model of a file can be served here, and decides how. */
export async function prepareModel(
  file: string,
  settings: ModelSettings,
): Promise<{ plan: ModelPlan; header: GgufHeader }> {
  const header = await readGgufHeader(file)
  const shownName = settings.model === 'builtin' ? 'The built-in model' : settings.model
  checkFitness(shownName, header)
  const sizes = chooseSizes(shownName, header, settings, await lookAtMachine())
  const { model: source, model_name, queue, priority } = settings
  const names = model_name.length > 0 ? [...model_name] : [basename(file).replace(/\.gguf$/i, '')]
  return { header, plan: { file, source, names, ...sizes, queue, priority } }
}

/** Refuses a file that is a GGUF but no model that writes text. */
export function checkFitness(shownName: string, header: GgufHeader): void {
  const { architecture, type, tokenizer, vocabulary, parts, causal, context, parameters } = header
  const refused = (why: string, accepted = 'a model that writes text') =>
    new ModelError(`${shownName} cannot be served: ${why}; accepted: ${accepted}.`)
  if (parts > 1) {
    throw refused(
      `it is one of ${parts} files of a split model`,
      'models in one file (llama-gguf-split --merge)',
    )
  }
  if (architecture === 'clip' || (type !== undefined && type !== 'model')) {
    throw refused(`it is of the kind ${JSON.stringify(type ?? architecture)}`)
  }
  if (!causal) throw refused(`its architecture ${architecture} reads text and writes none`)
  if (tokenizer === undefined || tokenizer === 'none' || vocabulary === 0) {
    throw refused('it has no tokenizer', 'files with the tokenizer in their metadata')
  }
  if (context < 1 || parameters < 1) throw refused('it has no weights, or does not say its context length')
}
