import { open } from 'node:fs/promises'

/** A value of the metadata, with the type that llama.cpp expects under that key. */
export type GgufValue =
  | { u32: number }
  | { f32: number }
  | { bool: boolean }
  | { text: string }
  | { texts: readonly string[] }
  | { i32s: readonly number[] }

/** One tensor: GGUF lists the shape from the innermost dimension outwards. */
export interface GgufTensor {
  name: string
  shape: readonly number[]
  type: keyof typeof tensorTypes
  bytes: () => Uint8Array
}

// The ids of ggml's types, and the number of values and bytes in a block:
// https://github.com/ggml-org/ggml/blob/master/docs/gguf.md
const tensorTypes = {
  f32: { id: 0, values: 1, bytes: 4 },
  f16: { id: 1, values: 1, bytes: 2 },
  q8_0: { id: 8, values: 32, bytes: 34 },
} as const

const ALIGNMENT = 32

/** Writes a GGUF file, version 3. Tensors are asked for their bytes one after the other, so that only one is in memory. */
export async function writeGguf(
  path: string,
  metadata: Readonly<Record<string, GgufValue>>,
  tensors: readonly GgufTensor[],
): Promise<void> {
  const file = await open(path, 'wx')
  try {
    await file.appendFile(padded(header(metadata, tensors)))
    for (const tensor of tensors) {
      const bytes = tensor.bytes()
      if (bytes.length !== sizeOf(tensor)) {
        throw new Error(`${tensor.name} has ${bytes.length} bytes, its shape asks for ${sizeOf(tensor)}`)
      }
      await file.appendFile(padded(bytes))
    }
  } finally {
    await file.close()
  }
}

export function sizeOf({ shape, type }: Pick<GgufTensor, 'shape' | 'type'>): number {
  const { values, bytes } = tensorTypes[type]
  return (shape.reduce((product, length) => product * length, 1) / values) * bytes
}

function header(metadata: Readonly<Record<string, GgufValue>>, tensors: readonly GgufTensor[]): Uint8Array {
  const entries = Object.entries(metadata)
  const parts = [Buffer.from('GGUF'), u32(3), u64(tensors.length), u64(entries.length)]
  for (const [key, value] of entries) parts.push(text(key), ...typed(value))
  let offset = 0
  for (const tensor of tensors) {
    parts.push(text(tensor.name), u32(tensor.shape.length), ...tensor.shape.map(u64))
    parts.push(u32(tensorTypes[tensor.type].id), u64(offset))
    offset += aligned(sizeOf(tensor))
  }
  return Buffer.concat(parts)
}

function typed(value: GgufValue): Buffer[] {
  if ('u32' in value) return [u32(4), u32(value.u32)]
  if ('f32' in value) return [u32(6), Buffer.from(Float32Array.of(value.f32).buffer)]
  if ('bool' in value) return [u32(7), Buffer.of(value.bool ? 1 : 0)]
  if ('text' in value) return [u32(8), text(value.text)]
  if ('texts' in value) return [u32(9), u32(8), u64(value.texts.length), ...value.texts.map(text)]
  return [u32(9), u32(5), u64(value.i32s.length), Buffer.from(Int32Array.from(value.i32s).buffer)]
}

function u32(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32LE(value)
  return bytes
}

function u64(value: number): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeBigUInt64LE(BigInt(value))
  return bytes
}

function text(value: string): Buffer {
  const bytes = Buffer.from(value)
  return Buffer.concat([u64(bytes.length), bytes])
}

function aligned(length: number): number {
  return Math.ceil(length / ALIGNMENT) * ALIGNMENT
}

function padded(bytes: Uint8Array): Uint8Array {
  return Buffer.concat([bytes, Buffer.alloc(aligned(bytes.length) - bytes.length)])
}
