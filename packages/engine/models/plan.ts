import { createHash } from 'node:crypto'
import { basename, join, resolve } from 'node:path'
import type { ModelTask, ServedModel } from '../backend.ts'
import { type Device, findDevice, installedBuilds } from '../native/device.ts'
import type { Adapter, EngineOptions } from '../protocol.ts'
import { digestOfFile } from './file-digest.ts'
import { type GgufHeader, readGgufHeader } from './gguf-header.ts'
import { inspectMachine } from './machine.ts'
import { layersOf } from './memory.ts'
import { ModelError } from './model-error.ts'
import type { EngineSettings } from './settings.ts'
import { chooseSizes, type SizesGiven } from './sizes.ts'
import { taskOf } from './task.ts'
import { quantizationOf } from './tensor-types.ts'

/** Checks the adapters of the settings by their headers, before a model is loaded with them. Also returns their bytes. */
export async function checkAdapters(
  lora: EngineSettings['lora'],
  model: GgufHeader & { shownName: string; names: readonly string[] },
): Promise<{ adapters: Adapter[]; adapterBytes: number }> {
  let adapterBytes = 0
  for (const { name, path } of lora) {
    const refused = (why: string, accepted: string) =>
      new ModelError(`HEDDLE_LORA: given ${name}=${path}, ${why}; accepted: ${accepted}.`)
    if (model.names.includes(name)) {
      throw refused(`and ${model.shownName} already has that name`, 'another name')
    }
    if (model.pooling !== undefined) throw refused(`and ${model.shownName} pools`, 'models that write text')
    const header = await readGgufHeader(path)
    if (header.type !== 'adapter') {
      const what = `${basename(path)} is a file of the kind ${JSON.stringify(header.type ?? 'model')}`
      throw refused(`but ${what}`, 'GGUF files of adapters (convert_lora_to_gguf.py of llama.cpp)')
    }
    if (header.architecture !== model.architecture) {
      const of = `an adapter of the architecture ${header.architecture}`
      throw refused(`but it is ${of}`, `those of ${model.architecture}, as ${model.shownName} is`)
    }
    adapterBytes += header.fileBytes
  }
  return { adapters: lora.map(({ name, path }) => ({ name, file: path })), adapterBytes }
}

/** A model that exists and fits, and how it is to be run: all that an engine needs to know. */
export interface ModelPlan
  extends EngineOptions,
    Pick<ServedModel, 'names' | 'source' | 'device' | 'shorter'> {
  /** What the file says of the model. */
  facts?: Pick<ServedModel, 'architecture' | 'quantization' | 'digest' | 'adapterDigests'>
  /** Whether requests may set their priority. */
  priority: boolean
  adapterBytes: number
}

export type ModelSettings = SizesGiven &
  Pick<EngineSettings, 'model' | 'model_name' | 'queue' | 'priority' | 'gpu'> &
  Partial<Pick<EngineSettings, 'dimensions' | 'lora' | 'speculation' | 'prompt_cache_disk' | 'data'>>

export interface DeviceSearch {
  signal?: AbortSignal
  /** For tests. */
  installed?: typeof installedBuilds
  find?: typeof findDevice
  /** The memory to plan with, if it is not what is free now. */
  look?: typeof inspectMachine
}

/** Checks that the model of a file can be served here, and decides how. `warnings` are for the log. */
export async function prepareModel(
  file: string,
  settings: ModelSettings,
  search: DeviceSearch = {},
): Promise<{ plan: ModelPlan; header: GgufHeader; warnings: string[] }> {
  const header = await readGgufHeader(file)
  const shownName = settings.model === 'builtin' ? 'The built-in model' : settings.model
  const task = checkFitness(shownName, header)
  const { model: source, model_name, queue, priority, lora = [], dimensions: shorter } = settings
  const names = model_name.length > 0 ? model_name : [basename(file).replace(/\.gguf$/i, '')]
  const { adapters, adapterBytes } = await checkAdapters(lora, { ...header, shownName, names })
  const { device, warnings } = await chooseDevice(settings, search)
  const look = search.look ?? inspectMachine
  const machine = { ...(await look()), ...(device && { device }) }
  const { gpuLayers, ...sizes } = chooseSizes(shownName, header, settings, machine, adapterBytes)
  const gpu: ModelPlan['gpu'] = gpuLayers > 0 && device !== undefined ? device.build : false
  if (device !== undefined && !gpu) {
    const why = `not one layer of ${shownName} fits into the free memory of ${device.names.join(', ')}`
    if (settings.gpu !== 'auto') {
      throw new ModelError(`HEDDLE_GPU: given ${settings.gpu}, and ${why}; accepted: auto, off.`, {
        isTemporary: true,
      })
    }
    warnings.push(`${why}: it runs on the CPU`)
  }
  const onGpu = gpu && `${gpu}: ${device?.names.join(', ')}, ${gpuLayers} of ${layersOf(header)} layers`
  const where = onGpu || 'cpu'
  if (task === 'answers' && header.template === undefined) {
    warnings.push('the model has no chat template: chat requests must send one')
  }
  const { flash_attention: flashAttention = 'auto', speculation = true } = settings
  const how = { ...sizes, gpu, gpuLayers, flashAttention, adapters, drafts: speculation }
  const promptDisk = task === 'answers' ? promptDiskOf(file, settings) : undefined
  const { architecture, fileType } = header
  const quantization = quantizationOf(fileType)
  const digest = await digestOfFile(file)
  const adapterDigests = await Promise.all(adapters.map((adapter) => digestOfFile(adapter.file)))
  const kind = { architecture, ...(quantization && { quantization }) }
  const facts = { ...kind, digest, ...(adapterDigests.length > 0 && { adapterDigests }) }
  const plan = { file, source, names, task, facts, ...how, device: where, queue, priority }
  return {
    header,
    plan: {
      ...plan,
      ...(promptDisk && { promptDisk }),
      ...(shorter !== undefined && shorter.length > 0 && { shorter }),
    },
    warnings,
  }
}

/** Each model has its own folder, so that its files for other settings can be told from those of other models. */
function promptDiskOf(file: string, { prompt_cache_disk: bound = 0, data }: ModelSettings) {
  if (bound === 0 || data === undefined) return undefined
  const name = createHash('sha256').update(resolve(file)).digest('hex').slice(0, 16)
  return { folder: join(resolve(data), 'prompts', name), bound }
}

/** The GPU of the settings: a named one must exist, `auto` uses the first available one. */
async function chooseDevice(
  { gpu, gpu_layers }: ModelSettings,
  { signal, installed = installedBuilds, find = findDevice }: DeviceSearch,
): Promise<{ device?: Device; warnings: string[] }> {
  const warnings: string[] = []
  const builds = gpu === 'auto' ? installed() : gpu === 'off' ? [] : [gpu]
  for (const build of builds) {
    const found = await find(build, signal)
    if (!('missing' in found)) return { device: found, warnings }
    warnings.push(found.missing)
  }
  if (gpu !== 'auto' && gpu !== 'off') {
    throw new ModelError(
      `HEDDLE_GPU: given ${gpu}, but ${warnings.join(', ')}; accepted: auto, off, or a build that is installed (docs/models.md).`,
    )
  }
  if (gpu_layers !== 'auto') {
    const why = gpu === 'off' ? 'HEDDLE_GPU is off' : (warnings[0] ?? 'no GPU build is installed')
    throw new ModelError(
      `HEDDLE_GPU_LAYERS: given ${gpu_layers}, but ${why}; accepted: auto, or a GPU (docs/models.md).`,
    )
  }
  return { warnings }
}

/** Refuses a GGUF file that is neither a model that writes text nor one that pools. */
export function checkFitness(shownName: string, header: GgufHeader): ModelTask {
  const { architecture, type, tokenizer, vocabulary, fileCount, context, parameters, labels, pairTemplate } =
    header
  const refused = (why: string, accepted = 'a model that writes text, or one that pools') =>
    new ModelError(`${shownName} cannot be served: ${why}; accepted: ${accepted}.`)
  if (fileCount > 1) {
    throw refused(
      `it is one of ${fileCount} files of a split model`,
      'models in one file (llama-gguf-split --merge)',
    )
  }
  if (architecture === 'clip' || (type !== undefined && type !== 'model')) {
    throw refused(`it is of the kind ${JSON.stringify(type ?? architecture)}`)
  }
  const task = taskOf(header)
  if (task === undefined) {
    throw refused(
      `its architecture ${architecture} writes no text, and the file does not say how it pools`,
      `files with that setting (${architecture}.pooling_type: 1 mean, 2 cls, 3 last, 4 rank)`,
    )
  }
  if (task === 'ranking' && labels > 1 && pairTemplate === undefined) {
    throw refused(`it classifies texts into ${labels} labels`, 'models that score a document for a query')
  }
  if (tokenizer === undefined || tokenizer === 'none' || vocabulary === 0) {
    throw refused('it has no tokenizer', 'files with the tokenizer in their metadata')
  }
  if (context < 1 || parameters < 1) throw refused('it has no weights, or does not say its context length')
  return task
}
