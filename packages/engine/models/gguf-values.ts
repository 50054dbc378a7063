import { type FileBytes, GgufError } from './file-bytes.ts'

/** A value of the metadata. A list is kept as its length and the sum of its numbers. */
export type Value = number | string | boolean | { length: number; sum: number } | undefined

const scalars: Record<number, { bytes: number; read(from: Buffer, at: number): number | boolean }> = {
  0: { bytes: 1, read: (from, at) => from.readUInt8(at) },
  1: { bytes: 1, read: (from, at) => from.readInt8(at) },
  2: { bytes: 2, read: (from, at) => from.readUInt16LE(at) },
  3: { bytes: 2, read: (from, at) => from.readInt16LE(at) },
  4: { bytes: 4, read: (from, at) => from.readUInt32LE(at) },
  5: { bytes: 4, read: (from, at) => from.readInt32LE(at) },
  6: { bytes: 4, read: (from, at) => from.readFloatLE(at) },
  7: { bytes: 1, read: (from, at) => from.readUInt8(at) !== 0 },
  10: { bytes: 8, read: (from, at) => Number(from.readBigUInt64LE(at)) },
  11: { bytes: 8, read: (from, at) => Number(from.readBigInt64LE(at)) },
  12: { bytes: 8, read: (from, at) => from.readDoubleLE(at) },
}
const textType = 8
const listType = 9

/** Only lists up to this length are summed: they have one number for each layer. */
const maxSummed = 4096

async function readValue(bytes: FileBytes, type: number, wanted: boolean): Promise<Value> {
  if (type === textType) return readText(bytes, wanted)
  if (type === listType) return listOf(bytes)
  const scalar = scalars[type]
  if (scalar === undefined) throw new GgufError(`it has a value of the unknown type ${type}`)
  return scalar.read(await bytes.take(scalar.bytes), 0)
}

async function listOf(bytes: FileBytes): Promise<Value> {
  const type = await bytes.u32()
  const length = await bytes.u64()
  if (type === textType) {
    await bytes.skipTexts(length)
    return { length, sum: 0 }
  }
  const scalar = scalars[type]
  if (scalar === undefined) throw new GgufError(`it has a list of the unknown type ${type}`)
  if (length > maxSummed) {
    bytes.skip(length * scalar.bytes)
    return { length, sum: 0 }
  }
  const all = await bytes.take(length * scalar.bytes)
  let sum = 0
  for (let at = 0; at < all.length; at += scalar.bytes) sum += Number(scalar.read(all, at))
  return { length, sum }
}

/** A text that is not needed is skipped, however long it is. */
async function readText(bytes: FileBytes, wanted: boolean): Promise<string | undefined> {
  const length = await bytes.u64()
  if (wanted) return (await bytes.take(length)).toString('utf8')
  bytes.skip(length)
  return undefined
}

/** The only texts that are kept: others are long. */
const texts = [
  'general.architecture',
  'general.type',
  'tokenizer.ggml.model',
  'tokenizer.chat_template',
  'tokenizer.chat_template.rerank',
]

/** Of keys and of tensors. */
const maxNameBytes = 65_535
/** No key that is read later is longer. */
const maxKeyLength = 256

export async function readValues(bytes: FileBytes, count: number): Promise<Map<string, Value>> {
  const values = new Map<string, Value>()
  for (let n = 0; n < count; n++) {
    const key = await readName(bytes)
    const value = await readValue(bytes, await bytes.u32(), texts.includes(key))
    if (key.length <= maxKeyLength) values.set(key, value)
  }
  return values
}

export async function readName(bytes: FileBytes): Promise<string> {
  const length = await bytes.u64()
  if (length > maxNameBytes) throw new GgufError(`it has a name of ${length} bytes`)
  return (await bytes.take(length)).toString('utf8')
}

export function textIn(values: ReadonlyMap<string, Value>, key: string): string | undefined {
  const value = values.get(key)
  return typeof value === 'string' ? value : undefined
}

export function numberIn(values: ReadonlyMap<string, Value>, key: string): number | undefined {
  const value = values.get(key)
  return typeof value === 'number' && Number.isFinite(value) && value >= 0 ? value : undefined
}
