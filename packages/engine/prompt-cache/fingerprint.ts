import { createHash, type Hash } from 'node:crypto'
import { closeSync, fstatSync, openSync, readSync } from 'node:fs'
import { cpus } from 'node:os'
import type { EngineOptions } from '../protocol.ts'

/** How many pieces of a file are hashed, and their length: enough to notice different weights. */
const pieces = 64
const lengthOfPiece = 64 * 1024

/** Increased when the format of the files changes, or how states are computed. */
const form = 3

/**
 * Identifies the model, engine and settings by which a state was computed: with any others the same tokens have a
 * different state. Files can have gigabytes, so only their length, their time and pieces from all over them are hashed.
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
  hash.update(JSON.stringify([form, engine, machine, settings]))
  for (const path of [file, ...adapters.map((adapter) => adapter.file)]) addFile(hash, path)
  return hash.digest('hex').slice(0, 32)
}

function addFile(hash: Hash, path: string): void {
  const file = openSync(path, 'r')
  try {
    const { size, mtimeMs } = fstatSync(file)
    hash.update(JSON.stringify([size, mtimeMs]))
    const piece = Buffer.alloc(Math.min(size, lengthOfPiece))
    for (let index = 0; index < pieces; index++) {
      const at = Math.floor(((size - piece.length) * index) / (pieces - 1))
      hash.update(piece.subarray(0, readSync(file, piece, 0, piece.length, at)))
    }
  } finally {
    closeSync(file)
  }
}
