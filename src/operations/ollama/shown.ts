import type { ServedModel } from '../../../packages/engine/index.ts'
import type { Caller } from '../../domain/callers.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { Model } from '../../inference/model.ts'
import { digestOfModel } from '../../inference/model-digest.ts'
import type { Models } from '../../inference/registry.ts'
import type { GenerationSettings } from '../generation/parts.ts'
import type { Details, ProcessesAnswer, ShowAnswer, TagsAnswer } from './answer-contract.ts'
import type { PullBody, ShowBody } from './contract.ts'
import { findModel } from './models.ts'

/** The level of Ollama that this wire is like. Clients compare its numbers. */
export const ollamaVersion = '0.40.12'

const hundredYears = 100 * 365 * 86_400_000

const timeOf = ({ created }: ServedModel) => new Date(created * 1000).toISOString()

function detailsOf({ architecture = '', parent = '', parameters, quantization = '' }: ServedModel): Details {
  const [scale, unit] = parameters >= 1e9 ? [1e9, 'B'] : parameters >= 1e6 ? [1e6, 'M'] : [1e3, 'K']
  return {
    parent_model: parent,
    format: architecture === '' ? '' : 'gguf',
    family: architecture,
    families: architecture === '' ? [] : [architecture],
    parameter_size: parameters > 0 ? `${(parameters / scale).toFixed(1)}${unit}` : '',
    quantization_level: quantization,
  }
}

function cardOf(served: ServedModel, name: string) {
  return { name, model: name, size: served.bytes, digest: digestOfModel(served), details: detailsOf(served) }
}

/** Each model under each of its names. */
function namesServed(models: readonly Model[]): { served: ServedModel; name: string }[] {
  return models.flatMap((model) => {
    const served = model.served()
    return served === undefined ? [] : served.names.map((name) => ({ served, name }))
  })
}

export function listTags(models: Models, caller: Caller): TagsAnswer {
  const cards = namesServed(models.seenBy(caller))
  return {
    models: cards.map(({ served, name }) => ({ ...cardOf(served, name), modified_at: timeOf(served) })),
  }
}

export function listLoaded(models: Models, caller: Caller): ProcessesAnswer {
  const loaded = models.seenBy(caller).filter((model) => model.status().state === 'ready')
  return {
    models: namesServed(loaded).map(({ served, name }) => ({
      ...cardOf(served, name),
      // Nothing is unloaded because time passes.
      expires_at: new Date(served.created * 1000 + hundredYears).toISOString(),
      size_vram: served.device.startsWith('cpu') ? 0 : served.bytes,
      context_length: served.context,
    })),
  }
}

export async function showModel(
  models: Models,
  settings: GenerationSettings,
  { model: asked, name }: ShowBody,
  caller: Caller,
): Promise<ShowAnswer> {
  const basename = named(asked || name)
  const { model, served } = findModel(models, basename, caller, 'any')
  const format = await model.format()
  const { architecture = 'unknown', tasks = ['answers'], context, parameters, dimensions } = served
  const isWriter = tasks.includes('answers')
  // A server elsewhere does not tell what it can do.
  const mayCall = format !== undefined || model.upstream !== undefined
  const capabilities = {
    completion: isWriter,
    tools: isWriter && mayCall && settings.toolChoice !== 'none',
    insert: served.infill !== undefined,
    vision: served.passesPictures ?? false,
    thinking: format?.reasoning !== undefined,
    embedding: tasks.includes('embeddings'),
  }
  // Continue recognizes a model that fills gaps by this word.
  const template = `${served.template ?? ''}${capabilities.insert ? '{# .Suffix #}' : ''}`
  return {
    license: '',
    modelfile: `FROM ${basename}\n`,
    parameters: `num_ctx ${context}`,
    template,
    modified_at: timeOf(served),
    details: detailsOf(served),
    model_info: {
      'general.architecture': architecture,
      'general.basename': basename,
      'general.parameter_count': parameters,
      [`${architecture}.context_length`]: context,
      ...(dimensions && { [`${architecture}.embedding_length`]: dimensions }),
    },
    capabilities: Object.entries(capabilities).flatMap(([capability, has]) =>
      has ? [capability as ShowAnswer['capabilities'][number]] : [],
    ),
    ...(format?.reasoning && { thinking: { values: [false, true], default: format.reasoning.isDefault } }),
  }
}

/** What is about one model has to say which; only what is answered may come from any. */
function named(name: string | null | undefined): string {
  if (name) return name
  throw wrong('model', 'nothing', 'the name of a model')
}

/** Programs pull before they ask. What they then rely on, that the name can be asked, holds for a served model. */
export function pullModel(models: Models, { model, name }: PullBody, caller: Caller): { status: 'success' } {
  const asked = named(model || name)
  try {
    findModel(models, asked, caller, 'any')
  } catch {
    throw refuse('models_chosen', { what: `the model ${JSON.stringify(asked)} cannot be pulled` })
  }
  return { status: 'success' }
}
