import { LRUCache } from 'lru-cache'
import { refuse } from '../../domain/refusals.ts'
import { readLabel, type ShadowOfLabel, type Sharer } from '../../storage/objects/label-shares.ts'
import {
  type ObjectVersion,
  readValue,
  readVersion,
  type VersionName,
} from '../../storage/objects/objects.ts'
import type { Reader } from '../../storage/transaction.ts'
import { isReserved } from '../objects/labels.ts'
import { objectDeleted, objectNotFound } from '../objects/resolve.ts'
import { type Sharing, type Stickiness, sharerFor } from './shares.ts'
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
   * Without `sticky`, neither shares nor shadows count. Undefined if there is no such prompt. Refuses a version that was
   * deleted, and an object that is no prompt.
   */
  find(db: Reader, project: string, name: PromptName, sticky?: Stickiness): Promise<FoundPrompt | undefined>
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
    if ('why' in read) throw refuse('prompt_unusable', { field: 'prompt', name: id, digest, why: read.why })
    cached.set(key, read, { size: val.length + 1 })
    return read
  }

  return {
    async find(db, project, { id, version }, sticky) {
      const label = isReserved(version)
        ? undefined
        : await readLabel(db, { project_id: project, object_id: id, alias: version })
      const found = label ?? (await liveVersion(db, project, { name: id, digest: version }))
      if (found === undefined) return undefined
      const share = sticky && label?.share
      const { digest } = share ? await sharerOf({ project, id, label: version }, share, sticky) : found
      const prompt = await promptOf(db, project, id, digest)
      const shadow = sticky && !share && label?.shadow?.present === digest ? label.shadow : undefined
      return prompt && { prompt, id, digest, ...(shadow && { shadow }) }
    },
  }
}

async function sharerOf(of: Omit<Sharing, 'key'>, share: readonly Sharer[], sticky: Stickiness) {
  const before = await sticky.before()
  return share.find(({ digest }) => digest === before) ?? sharerFor({ ...of, key: sticky.key() }, share)
}

/** Refuses a version that was deleted. */
async function liveVersion(
  db: Reader,
  project: string,
  name: VersionName,
): Promise<ObjectVersion | undefined> {
  const found = await readVersion(db, project, name)
  if (found && found.deleted_at !== null) throw objectDeleted('prompt', project, name, found.deleted_at)
  return found
}

export const promptNotFound = (project: string, { id, version }: PromptName) =>
  objectNotFound('prompt', project, { name: id, digest: version })
