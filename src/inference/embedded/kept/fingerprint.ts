import { createHash, type Hash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { cpus } from 'node:os'
import { version } from '../../../version.ts'
import type { EngineOptions } from '../protocol.ts'

/** So many places of a file are looked at, and so much of each: enough to see that weights are others. */
const places = 64
const lengthOfPlace = 64 * 1024

/** Changes when what is in the files does. */
const form = 1

/**
 * Says by which model, engine and settings a state was computed: with any other the same tokens have another one. Of files that
 * may have gigabytes it looks at their length, their time and pieces from all over them.
 */
export function fingerprintOf(
  { file, adapters, context, kv, gpu, gpuLayers }: EngineOptions,
  { engine, hasPlainAttention }: { engine: string; hasPlainAttention: boolean },
): string {
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
  hash.update(JSON.stringify([form, version, engine, machine, settings]))
  for (const one of [file, ...adapters.map((adapter) => adapter.file)]) addFile(hash, one)
  return hash.digest('hex').slice(0, 32)
}

function addFile(hash: Hash, path: string): void {
  const file = openSync(path, 'r')
  try {
    const { size, mtimeMs } = fstatSync(file)
    hash.update(JSON.stringify([size, mtimeMs]))
    const piece = Buffer.alloc(Math.min(size, lengthOfPlace))
    for (let place = 0; place < places; place++) {
      const at = Math.floor(((size - piece.length) * place) / (places - 1))
      hash.update(piece.subarray(0, readSync(file, piece, 0, piece.length, at)))
    }
  } finally {
    closeSync(file)
  }
}
