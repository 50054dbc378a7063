import { randomBytes } from 'node:crypto'
import { LRUCache } from 'lru-cache'
import type { Redaction } from '../../../packages/redaction/index.ts'
import type { SharedText } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import { maxEntries } from '../../threads/cache-bounds.ts'
import type { Commands } from '../commands.ts'
import { type Database, databaseOf } from '../database.ts'
import { keepPictures, pictureHolders } from '../pictures/keep.ts'
import { readProjectSettings } from '../projects/projects.ts'
import type { RedactionCount } from './counts.ts'
import { type Entry, entriesOf } from './entries.ts'
import { createRedacting } from './redaction.ts'
import type { RedactionRules, TextToRedact } from './texts.ts'

/** A change by another process takes effect within a second. */
const freshMs = 1_000
const maxKnown = 10_000

/** A text of a write, and where it goes back to. */
interface Target extends TextToRedact {
  entry: Entry
  column: string
}

/**
 * The same record, in which private texts are replaced before they are written, and pictures of requests become files.
 * All writes of all ways in come through here, before a byte of them is on the disk. A project that sets no redaction
 * takes a look-up for each record.
 */
export function redactingRecord(db: Database): Database {
  const redacting = createRedacting()
  const known = new LRUCache<string, { rules: RedactionRules | undefined }>({
    ...maxEntries(maxKnown),
    ttl: freshMs,
  })
  let secret: Promise<string> | undefined

  function sharedSecret(): Promise<string> {
    secret ??= redactionSecret(db).catch((error) => {
      secret = undefined
      throw error
    })
    return secret
  }

  async function read(project: string): Promise<RedactionRules | undefined> {
    const { redaction } = await readProjectSettings(db, project)
    const rules = redaction && {
      redaction,
      secret: hasHashes(redaction) ? await sharedSecret() : '',
    }
    known.set(project, { rules })
    return rules
  }

  /** Replaces the texts of entries in place, and returns how many of each kind. */
  async function redact(entries: readonly Entry[], tenant: string): Promise<RedactionCount[]> {
    const counted: RedactionCount[] = []
    for (const [project_id, own] of Map.groupBy(entries, ({ project }) => project)) {
      const fresh = known.get(project_id)
      const rules = fresh ? fresh.rules : await read(project_id)
      if (rules === undefined) continue
      const targets = own.flatMap(targetsOf)
      const { texts, counts } = await redacting.redact(
        tenant,
        rules,
        targets.map(({ text, root }) => ({ text, ...(root !== undefined && { root }) })),
      )
      for (const [index, { entry, column, text }] of targets.entries()) {
        const changed = texts[index]
        if (changed !== undefined) putBack(entry, column, text, changed)
      }
      for (const [kind, count] of Object.entries(counts)) counted.push({ project_id, kind, count })
    }
    return counted
  }

  /** Texts of accepted writes that are being replaced. */
  const replacing = new Set<Promise<unknown>>()
  let isClosing = false
  function accepted<Value>(work: Promise<Value>): Promise<Value> {
    replacing.add(work)
    // Removed one turn later than the write that awaits it goes on.
    const forget = () => void replacing.delete(work)
    work.then(forget, forget)
    return work
  }

  return {
    ...db,
    async write<Name extends keyof Commands>(
      name: Name,
      input: Parameters<typeof db.write<Name>>[1],
      tenant?: string,
    ): Promise<Awaited<ReturnType<Commands[Name]>>> {
      if (isClosing) throw refuse('stopping')
      const entries = (entriesOf[name] as ((written: typeof input) => Entry[]) | undefined)?.(input)
      const counted = entries === undefined ? [] : await accepted(redact(entries, tenant ?? ''))
      // After it, so that no picture is a file that the project would not keep.
      const holders = pictureHolders(name, input as Parameters<Commands[Name]>[1])
      if (holders.length > 0) await accepted(keepPictures(databaseOf(tenant ?? '', db), holders))
      const answer = await db.write(name, input, tenant)
      if (name === 'changeProjectSettings') {
        known.delete((input as Parameters<Commands['changeProjectSettings']>[1]).project_id)
      }
      // The write itself has succeeded: a record that stops accepting writes now says so to the next one.
      if (counted.length > 0) await db.write('addRedactionCounts', counted, tenant).catch(() => undefined)
      return answer
    },
    async close() {
      isClosing = true
      // What was accepted before is written.
      while (replacing.size > 0) await Promise.allSettled(replacing)
      await Promise.all([db.close(), redacting.close()])
    },
  }
}

/** Makes hashes that nobody can guess. */
export const redactionSecret = (db: Database): Promise<string> =>
  db.write('secretOf', { name: 'redaction', value: randomBytes(32).toString('base64') })

const hasHashes = ({ paths = [] }: Redaction) => paths.some(({ action }) => action === 'hash')

function targetsOf(entry: Entry): Target[] {
  const values = entry.of as Record<string, string | SharedText | null | undefined>
  const { texts, json } = entry.shape
  const targets: Target[] = []
  for (const column of texts) {
    const text = values[column]
    if (text != null) targets.push({ entry, column, text })
  }
  for (const column of json) {
    const text = values[column]
    if (text != null) targets.push({ entry, column, text, root: rootOf(column) })
  }
  return targets
}

/** Paths name a log record as what it becomes. */
const rootOf = (column: string) => (column === 'record' ? 'attributes' : column)

const bytesOf = (text: string | SharedText) =>
  typeof text === 'string' ? Buffer.byteLength(text) : text.length

function putBack(
  { of, shape: { json, size } }: Entry,
  column: string,
  before: string | SharedText,
  after: string | SharedText,
): void {
  const values = of as Record<string, unknown>
  values[column] = after
  if (size === undefined || !json.includes(column)) return
  values[size] = Number(values[size]) + bytesOf(after) - bytesOf(before)
}
