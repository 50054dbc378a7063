import { LRUCache } from 'lru-cache'
import { refuse } from '../../domain/refusals.ts'
import { readSharing, type ShadowOfLabel } from '../../storage/objects/label-shares.ts'
import { readValue, readVersion } from '../../storage/objects/objects.ts'
import type { Reader } from '../../storage/transaction.ts'
import { isReserved } from '../objects/labels.ts'
import { objectDeleted, objectNotFound } from '../objects/resolve.ts'
import { sharerFor } from './shares.ts'
import { type StoredPrompt, storedPromptOf } from './stored-prompt.ts'

/** A prompt by its name, and by a digest, `latest`, `v` and a number, or a label, which is an alias of the object. */
export interface PromptName {
  id: string
  version: string
}

/** The label of requests that name no version. */
export const usualLabel = 'production'

interface FoundPrompt {
  prompt: StoredPrompt
  id: string
  digest: string
  /** Another version that is asked besides. */
  shadow?: ShadowOfLabel
}

export interface NamedPrompts {
  /**
   * `key` chooses among versions that share a label; without it, neither shares nor shadows count. Undefined if there is none.
   * Refuses a version that was deleted, and an object that is no prompt.
   */
  find(db: Reader, project: string, name: PromptName, key?: () => string): Promise<FoundPrompt | undefined>
}

/** Characters of the prompts that are cached, as they are stored. */
const maxCached = 16 << 20

/**
 * The label is read for every request, so that a move is in effect with its answer, on every server. What a digest
 * stands for never changes and is cached.
 */
export function createNamedPrompts(): NamedPrompts {
  const cached = new LRUCache<string, StoredPrompt>({ maxSize: maxCached })

  async function promptOf(db: Reader, project: string, id: string, digest: string) {
    const key = `${project} ${id} ${digest}`
    const known = cached.get(key)
    if (known !== undefined) return known
    const val = await readValue(db, project, { name: id, digest })
    // Deleted since its version was read.
    if (val === null) return undefined
    const read = storedPromptOf(val)
    if ('why' in read)
      throw refuse('prompt_unusable', { field: 'prompt', name: JSON.stringify(id), digest, why: read.why })
    cached.set(key, read, { size: val.length + 1 })
    return read
  }

  return {
    async find(db, project, { id, version }, key) {
      const isShareable = key !== undefined && !isReserved(version)
      const [found, { share, shadow }] = await Promise.all([
        readVersion(db, project, { name: id, digest: version }),
        isShareable
          ? readSharing(db, { project_id: project, object_id: id, alias: version })
          : { share: null, shadow: undefined },
      ])
      if (found === undefined) return undefined
      if (found.deleted_at !== null) {
        throw objectDeleted('prompt', project, { name: id, digest: version }, found.deleted_at)
      }
      const { digest } =
        share === null || key === undefined
          ? found
          : sharerFor({ project, id, label: version, key: key() }, share)
      const prompt = await promptOf(db, project, id, digest)
      const isShadowed = shadow?.present === digest && share === null
      return prompt && { prompt, id, digest, ...(isShadowed && { shadow }) }
    },
  }
}

export const promptNotFound = (project: string, { id, version }: PromptName) =>
  objectNotFound('prompt', project, { name: id, digest: version })
