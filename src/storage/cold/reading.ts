import { LRUCache } from 'lru-cache'
import { Refusal, refuse } from '../../domain/refusals.ts'
import { type Block, readBlock } from './blocks.ts'
import { parseReference, type Reference } from './reference.ts'
import type { ColdStore } from './store.ts'

/** Texts of blocks that were read lately. */
const maxCachedBytes = 32 << 20

/** Reads of the store at the same time, of one question. */
const maxReads = 4

/** A read of the store that takes longer counts as failed. */
const patienceMs = 20_000

/** Thrown with the name of a file that is gone: the call may have moved to another one meanwhile. */
export class MissingFile extends Error {
  override readonly name = 'MissingFile'
}

export interface ColdReading {
  /** The text of each reference. */
  texts(references: ReadonlySet<string>, signal?: AbortSignal): Promise<Map<string, string>>
  /** Whose text it is. */
  blockOf(reference: Reference, signal?: AbortSignal): Promise<Block>
  readonly counted: { reads: number; failures: number }
}

export function createColdReading(store: ColdStore | undefined): ColdReading {
  const blocks = new LRUCache<string, Block>({
    maxSize: maxCachedBytes,
    maxEntrySize: maxCachedBytes,
    sizeCalculation: ({ bytes }) => bytes,
  })
  const counted = { reads: 0, failures: 0 }

  async function fetch({ file, offset, length }: Reference, signal: AbortSignal): Promise<Block> {
    if (store === undefined) throw refuse('cold_store_unset')
    counted.reads++
    const bytes = await store.read(file, offset, length, signal)
    if (bytes === undefined) throw new MissingFile(file)
    try {
      return await readBlock(file, bytes)
    } catch (error) {
      throw damaged(file, error)
    }
  }

  async function blockOf(reference: Reference, signal = AbortSignal.timeout(patienceMs)): Promise<Block> {
    const name = `${reference.file}:${reference.offset}`
    const known = blocks.get(name)
    if (known !== undefined) return known
    try {
      const block = await fetch(reference, signal)
      blocks.set(name, block)
      return block
    } catch (error) {
      if (error instanceof Refusal) counted.failures++
      throw error
    }
  }

  return {
    counted,
    blockOf,
    async texts(references, signal) {
      const either = signal && AbortSignal.any([signal, AbortSignal.timeout(patienceMs)])
      const found = new Map<string, string>()
      const ofBlocks = Map.groupBy(references, (text) => text.slice(0, text.lastIndexOf(':')))
      const waiting = [...ofBlocks.values()]
      async function readSome(): Promise<void> {
        for (let own = waiting.pop(); own !== undefined; own = waiting.pop()) {
          const parsed = own.map((text) => ({ text, reference: parseReference(text) }))
          const [first] = parsed
          if (first?.reference === undefined) throw unreadable(first?.text ?? '')
          const { file } = first.reference
          const block = await blockOf(first.reference, either)
          for (const { text, reference } of parsed) {
            found.set(text, entryOf(file, block, reference?.entry ?? -1))
          }
        }
      }
      await Promise.all(Array.from({ length: Math.min(maxReads, waiting.length) }, readSome))
      return found
    },
  }
}

function entryOf(file: string, block: Block, entry: number): string {
  try {
    return block.textOf(entry)
  } catch (error) {
    throw damaged(file, error)
  }
}

export function damaged(file: string, cause: unknown): Refusal {
  const refusal = refuse('cold_file_damaged', { file })
  refusal.cause = cause
  return refusal
}

/** Of a reference that leads to no text. */
export const unreadable = (reference: string) =>
  damaged(
    parseReference(reference)?.file ?? reference.slice(0, 80),
    new Error('its reference cannot be read'),
  )
