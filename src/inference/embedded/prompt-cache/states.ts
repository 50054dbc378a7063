import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AddonContext, Binding } from '../binding.ts'

/** What precedes the tokens of a file: magic, version and number of tokens (`llama_state_seq_save_file`). */
const headOfFile = 12

/** Magic and sequence (`llama_context::state_seq_get_data`). */
const headOfCheckpoint = 8

/** How much of a sequence a checkpoint contains. */
interface Checkpoints {
  /** Everything: a sequence can continue from it. For models with sliding windows or recurrent states it is only a part. */
  areWhole: boolean
  bytesOfToken: number
}

/**
 * Finds out by reading two tokens and comparing the size of a checkpoint with that of a file, which always has
 * everything. Reading them also warms up the weights. Undefined when no file can be written; the model is served all
 * the same.
 */
export async function inspectCheckpoints(
  binding: Binding,
  context: AddonContext,
): Promise<Checkpoints | undefined> {
  const tokens = Uint32Array.of(0, 1)
  context.initBatch(tokens.length)
  context.addToBatch(0, 0, tokens, new Uint32Array())
  await context.decodeBatch()
  const checkpoint = new binding.AddonContextSequenceCheckpoint()
  try {
    await checkpoint.init(context, 0)
    const saved = await inTemporaryFolder((folder) =>
      context.saveSequenceStateToFile(join(folder, 'state'), 0, tokens),
    )
    const areWhole = saved - headOfFile - tokens.byteLength === checkpoint.size - headOfCheckpoint
    return { areWhole, bytesOfToken: checkpoint.size / tokens.length }
  } catch (error) {
    console.error(
      `Prompts that make room for others are not kept: no file can be written to ${tmpdir()} (${error})`,
    )
    return undefined
  } finally {
    checkpoint.dispose()
    context.removeTokenCellsFromSequence(0, 0, -1)
  }
}

async function inTemporaryFolder<Result>(use: (folder: string) => Promise<Result>): Promise<Result> {
  const folder = await mkdtemp(join(tmpdir(), 'heddle-state-'))
  try {
    return await use(folder)
  } finally {
    await rm(folder, { recursive: true, force: true })
  }
}

/** A copy of the state of a sequence. */
export async function saveState(binding: Binding, context: AddonContext, sequence: number) {
  const checkpoint = new binding.AddonContextSequenceCheckpoint()
  await checkpoint.init(context, sequence)
  return {
    bytes: checkpoint.size,
    /** Gives the sequence the first `count` tokens; false when it is empty instead. */
    async restore(to: number, count: number): Promise<boolean> {
      if (await context.restoreCheckpoint(checkpoint, count - 1, to)) return true
      context.removeTokenCellsFromSequence(to, 0, -1)
      return false
    },
    dispose: () => checkpoint.dispose(),
  }
}
