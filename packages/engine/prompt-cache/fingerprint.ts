import { createHash } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { cpus } from 'node:os'
import { digestOfFile } from '../models/file-digest.ts'
import type { EngineOptions } from '../protocol.ts'

/** Increased when the format of the files changes, or how states are computed. */
const form = 4

/**
 * Identifies the model, engine and settings by which a state was computed: with any others the same tokens have a
 * different state.
 */
export async function fingerprintOf(
  { file, adapters, context, kv, gpu, gpuLayers }: EngineOptions,
  { engine, hasPlainAttention }: { engine: string; hasPlainAttention: boolean },
): Promise<string> {
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
  for (const path of [file, ...adapters.map((adapter) => adapter.file)]) {
    hash.update(JSON.stringify([(await stat(path)).mtimeMs, await digestOfFile(path)]))
  }
  return hash.digest('hex').slice(0, 32)
}
