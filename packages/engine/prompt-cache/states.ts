import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { LlamaContext } from '../llama/context.ts'

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
export async function inspectCheckpoints(context: LlamaContext): Promise<Checkpoints | undefined> {
  const tokens = Uint32Array.of(0, 1)
  context.begin()
  context.add(0, 0, tokens, new Uint32Array())
  await context.decode()
  try {
    const { length } = await context.state(0)
    const saved = await inTemporaryFolder((folder) => context.save(join(folder, 'state'), 0, tokens))
    const areWhole = saved - headOfFile - tokens.byteLength === length - headOfCheckpoint
    return { areWhole, bytesOfToken: length / tokens.length }
  } catch (error) {
    console.error(
      `Prompts that make room for others are not kept: no file can be written to ${tmpdir()} (${error})`,
    )
    return undefined
  } finally {
    context.forget(0, 0)
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
export async function saveState(context: LlamaContext, sequence: number) {
  const state = await context.state(sequence)
  return {
    bytes: state.length,
    /** Gives the sequence the first `count` tokens; false when it is empty instead. */
    async restore(to: number, count: number): Promise<boolean> {
      if (await context.restore(state, to, count)) return true
      context.forget(to, 0)
      return false
    },
    /** Its memory is free at once: the collector may take long to notice. */
    dispose: () => void state.buffer.transfer(0),
  }
}
