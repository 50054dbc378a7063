import { type FileHandle, open, stat } from 'node:fs/promises'
import { type FileBytes, fileBytes, GgufError } from './file-bytes.ts'
import { numberIn, readName, readValues, textIn, type Value } from './gguf-values.ts'
import { ModelError, reasonOf } from './model-error.ts'
import { bytesOfTensor } from './tensor-types.ts'

/** The model's data in the header of a GGUF file (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md). */
export type GgufHeader = Awaited<ReturnType<typeof readHeader>>

/** The header of a model with a vocabulary of 256,000 takes about 20 MB. */
const largestHeader = 256 * 1024 * 1024
const maxKeys = 65_536
const maxTensors = 1_000_000

const newest = 3

export const acceptedModels =
  'accepted: builtin, the path of a .gguf file, hf:<org>/<repo>[:<quant or file>], none'

/** Reads only the header, with bounded memory whatever the file claims (docs/decisions/0014). */
export async function readGgufHeader(path: string): Promise<GgufHeader> {
  let file: FileHandle | undefined
  try {
    // Checked before opening: opening a pipe waits for a writer.
    const found = await stat(path)
    if (!found.isFile()) {
      throw new ModelError(
        `${path} is ${found.isDirectory() ? 'a folder' : 'not a file'}; ${acceptedModels}.`,
      )
    }
    file = await open(path)
    return await readHeader(path, file, (await file.stat()).size)
  } catch (error) {
    if (error instanceof ModelError) throw error
    const why =
      error instanceof GgufError
        ? `${path} is a damaged GGUF file, perhaps not copied whole: ${error.message}.`
        : `The model ${path} cannot be read: ${reasonOf(error)}; ${acceptedModels}.`
    throw new ModelError(why, { cause: error })
  } finally {
    await file?.close()
  }
}

async function readHeader(path: string, file: FileHandle, size: number) {
  const refused = (why: string) => new ModelError(`${path} is ${why}.`)
  if (size < 24) throw refused('not a GGUF file: it is too short')
  const bytes = fileBytes(file, Math.min(size, largestHeader))
  const magic = (await bytes.take(4)).toString('latin1')
  if (magic !== 'GGUF') throw refused(`not a GGUF file: it begins with ${JSON.stringify(magic)}`)
  const version = await bytes.u32()
  if (version > 0xffff) throw refused('a GGUF file for big-endian machines; accepted: little-endian')
  if (version < 2 || version > newest) {
    throw refused(`a GGUF file of version ${version}; accepted: versions 2 and ${newest}`)
  }
  const tensors = await countOf(bytes, maxTensors, 'tensors')
  const keys = await countOf(bytes, maxKeys, 'metadata keys')
  const values = await readValues(bytes, keys)
  const weights = await weightsOf(bytes, tensors)
  const alignment = numberIn(values, 'general.alignment') ?? 32
  if (alignment < 1 || alignment > 1 << 20) throw new GgufError(`it claims an alignment of ${alignment}`)
  const dataStart = Math.ceil(bytes.position() / alignment) * alignment
  if (dataStart + weights.end > size) {
    throw new GgufError(`it has ${size} bytes where its tensors need ${dataStart + weights.end}`)
  }
  return { fileBytes: size, ...factsOf(values), ...weights.facts }
}

async function countOf(bytes: FileBytes, most: number, what: string): Promise<number> {
  const count = await bytes.u64()
  if (count > most) throw new GgufError(`it claims ${count} ${what}`)
  return count
}

/** The sizes that the list of tensors states; their data begins after the header. */
async function weightsOf(bytes: FileBytes, count: number) {
  let parameters = 0
  let weightBytes = 0
  /** The bytes of the layers alone: the rest are embeddings and the output. */
  let layerBytes = 0
  let end = 0
  for (let n = 0; n < count; n++) {
    const name = await readName(bytes)
    const dimensions = await bytes.u32()
    if (dimensions > 4) throw new GgufError(`it has a tensor of ${dimensions} dimensions`)
    let values = 1
    for (let d = 0; d < dimensions; d++) values *= await bytes.u64()
    const type = await bytes.u32()
    const offset = await bytes.u64()
    const size = bytesOfTensor(type, values)
    parameters += values
    weightBytes += size
    if (name.startsWith('blk.')) layerBytes += size
    end = Math.max(end, offset + size)
  }
  return { end, facts: { parameters, weightBytes, layerBytes } }
}

function factsOf(values: ReadonlyMap<string, Value>) {
  const architecture = textIn(values, 'general.architecture') ?? 'unknown'
  const number = (key: string) => numberIn(values, `${architecture}.${key}`)
  const layers = number('block_count') ?? 0
  const embedding = number('embedding_length') ?? 0
  const heads = ofAllLayers(values.get(`${architecture}.attention.head_count`), layers) ?? 0
  const kvHeads = ofAllLayers(values.get(`${architecture}.attention.head_count_kv`), layers) ?? heads
  const headLength = heads > 0 ? (embedding * layers) / heads : 0
  const tokens = values.get('tokenizer.ggml.tokens')
  return {
    architecture,
    /** `model`, `adapter`, `mmproj`…; absent in older files. */
    type: textIn(values, 'general.type'),
    /** The number of the quantization that most weights have. */
    fileType: numberIn(values, 'general.file_type'),
    /** The context length with which it was trained. */
    context: number('context_length') ?? 0,
    layers,
    embedding,
    /** Summed over all layers, since they may differ. */
    kvHeads,
    keyLength: number('attention.key_length') ?? headLength,
    valueLength: number('attention.value_length') ?? headLength,
    /** False for encoders, which cannot generate text. */
    causal: values.get(`${architecture}.attention.causal`) !== false,
    /** How it combines the vectors of all tokens into one; absent if it does not. */
    pooling: poolings[number('pooling_type') ?? 0],
    /** The number of labels of a classifier; a reranker has one or two. */
    labels: lengthOf(values.get(`${architecture}.classifier.output_labels`)),
    /** How a query and a document are combined into one text, if a reranker needs a special form. */
    pairTemplate: textIn(values, 'tokenizer.chat_template.rerank'),
    vocabulary: typeof tokens === 'object' ? tokens.length : 0,
    tokenizer: textIn(values, 'tokenizer.ggml.model'),
    template: textIn(values, 'tokenizer.chat_template'),
    /** The number of files into which the model is split. */
    fileCount: numberIn(values, 'split.count') ?? 1,
  }
}

/** `llama_pooling_type` in llama.h. */
const poolings = [undefined, 'mean', 'cls', 'last', 'rank'] as const

const lengthOf = (value: Value): number => (typeof value === 'object' ? value.length : 0)

function ofAllLayers(value: Value, layers: number): number | undefined {
  if (typeof value === 'number') return value * layers
  return typeof value === 'object' ? value.sum : undefined
}
