import { createYieldToLoop, inSteps } from '../../../packages/waiting/index.ts'
import { batchesOf } from '../../domain/batches.ts'
import { type Caller, requireAccess } from '../../domain/callers.ts'
import { shortened } from '../../domain/described.ts'
import { JsonText } from '../../domain/json/text.ts'
import { parseRef, type Ref, type RefStep } from '../../domain/refs.ts'
import { Refusal, refuse, wrong } from '../../domain/refusals.ts'
import { formatTime } from '../../domain/time.ts'
import {
  type ObjectVersion,
  readValues,
  readVersion,
  readVersions,
  type VersionName,
} from '../../storage/objects/objects.ts'
import { readRowSizes, readRows } from '../../storage/objects/tables.ts'
import type { Reader } from '../../storage/transaction.ts'
import { Value } from './values.ts'

/** What a reference leads to. A step to something that the value does not have finds null. */
type Resolved =
  | { found: JsonText }
  | { deleted: VersionName & { project: string; at: number } }
  | { missing: VersionName & { project: string } }
  | { missingRow: string; project: string }

export type NamedRef = Extract<Ref, { kind: 'object' | 'op' }>

/** Bytes of values that are read for one request, and of those in its answer. */
const maxBytes = 64 * 1024 * 1024
const atOnce = 100
/** How many times a reference may lead to a value that is the next reference. */
const maxHops = 8

/** A longer text is no reference and is not parsed again and again. */
const maxRefLength = 16 * 1024

const nothing = new Value('null')

/** How far a reference was followed: to something that must be read first, or to a value. */
interface Walk {
  ref: NamedRef
  field: string
  steps: readonly RefStep[]
  hops: number
  want?: { project: string; version: VersionName } | { project: string; row: string }
  value?: Value
  end?: Resolved | { refused: Refusal }
}

/** References as `/refs/read_batch` accepts them: of objects, in projects that the caller has access to. */
function namedRefs(caller: Caller, refs: readonly string[]): NamedRef[] {
  return refs.map((text, index) => {
    const field = `refs.${index}`
    const ref = parseRef(text)
    if (ref === undefined || (ref.kind !== 'object' && ref.kind !== 'op')) {
      throw wrong(
        field,
        shortened(text),
        'a reference to an object or an op: <scheme>:///<entity>/<project>/object/<name>:<digest>',
      )
    }
    requireAccess(caller, ref.project, field, 'read')
    return ref
  })
}

/** The values in the order of the references. A deleted one is null; a missing one refuses the whole request. */
export async function resolveRefs(db: Reader, caller: Caller, refs: readonly string[]): Promise<JsonText[]> {
  const resolved = await resolveEach(db, caller, namedRefs(caller, refs))
  return resolved.map((result, index) => {
    if ('found' in result) return result.found
    if ('deleted' in result) return new JsonText('null')
    throw 'missingRow' in result
      ? refuse('row_not_found', {
          field: `refs.${index}`,
          digest: result.missingRow,
          project: result.project,
        })
      : objectNotFound(`refs.${index}`, result.missing.project, result.missing)
  })
}

export function objectNotFound(field: string, project: string, { name, digest }: VersionName) {
  return refuse('object_not_found', { field, name, version: digest, project })
}

export function objectDeleted(field: string, project: string, { name, digest }: VersionName, at: number) {
  return refuse('object_deleted', { field, name, version: digest, project, deleted_at: formatTime(at) })
}

/** What each reference leads to, in as few reads as the references allow. */
export async function resolveEach(
  db: Reader,
  caller: Caller,
  refs: readonly NamedRef[],
): Promise<Resolved[]> {
  const store = createStore(db, () => {
    throw refuse('answer_too_large', { field: 'refs', limit: maxBytes })
  })
  const walks = walksOf(refs)
  await walkAll(store, walks, (walk) => advance(walk, caller))
  const resolved = walks.map(({ end }) => end as Resolved)
  // A value that is read once may be in the answer a thousand times.
  const answered = resolved.reduce((size, end) => size + ('found' in end ? end.found.text.length : 0), 0)
  if (answered > maxBytes) throw refuse('answer_too_large', { field: 'refs', limit: maxBytes })
  return resolved
}

/**
 * Follows references that were found inside values and not named in the request. Undefined for those that lead to
 * nothing, to another tenant, or beyond the bytes of one request. Values that were read stay cached for references
 * followed later.
 */
export function createFollower(
  db: Reader,
  caller: Caller,
): (refs: readonly NamedRef[]) => Promise<(string | undefined)[]> {
  const store = createStore(db, () => false)
  function advanceOrEnd(walk: Walk): void {
    try {
      advance(walk, caller)
    } catch (error) {
      if (!(error instanceof Refusal)) throw error
      walk.end = { refused: error }
    }
  }
  return async (refs) => {
    const walks = walksOf(refs)
    await walkAll(store, walks, advanceOrEnd)
    return walks.map(({ end }) => {
      const text = end !== undefined && 'found' in end ? end.found.text : 'null'
      return text === 'null' ? undefined : text
    })
  }
}

function walksOf(refs: readonly NamedRef[]): Walk[] {
  return refs.map((ref, index) => ({
    ref,
    field: `refs.${index}`,
    steps: ref.path,
    hops: 0,
    want: wantOf(ref),
  }))
}

async function walkAll(store: Store, walks: Walk[], advance: (walk: Walk) => void): Promise<void> {
  for (let waiting = walks; waiting.length > 0; waiting = waiting.filter(({ end }) => end === undefined)) {
    await store.read(waiting)
    await inSteps(waiting, (walk) => {
      store.arrive(walk)
      if (walk.end === undefined) advance(walk)
    })
  }
}

function wantOf(ref: NamedRef): { project: string; version: VersionName } {
  return { project: ref.project, version: { name: ref.name, digest: ref.digest } }
}

/** Takes steps until the value is reached or something else must be read. */
function advance(walk: Walk, caller: Caller): void {
  let value = walk.value ?? nothing
  delete walk.want
  while (walk.steps.length > 0) {
    const step = walk.steps[0] as RefStep
    const inner = value.text.length > maxRefLength ? undefined : value.string
    const next = inner === undefined ? undefined : parseRef(inner)
    if (step.edge === 'id') {
      if (next?.kind !== 'table') throw notATable(walk, value)
      const { project } = next
      requireAccess(caller, project, walk.field, 'read')
      hop(walk)
      walk.want = { project, row: step.value }
      walk.steps = walk.steps.slice(1)
      return
    }
    if (next?.kind === 'object') {
      requireAccess(caller, next.project, walk.field, 'read')
      hop(walk)
      walk.want = wantOf(next)
      walk.steps = [...next.path, ...walk.steps]
      return
    }
    value = (step.edge === 'index' ? value.item(Number(step.value)) : value.member(step.value)) ?? nothing
    walk.steps = walk.steps.slice(1)
  }
  walk.end = { found: new JsonText(value.text) }
}

function hop(walk: Walk): void {
  if (++walk.hops <= maxHops) return
  throw wrong(walk.field, `resolves through more than ${maxHops} references`, `at most ${maxHops}`)
}

function notATable(walk: Walk, value: Value) {
  return wrong(
    walk.field,
    `"id" applied to ${shortened(value.text)}`,
    '"id" after a reference to a table, as in …/attr/rows/id/<row digest>',
  )
}

interface Store {
  /** Reads what the walks want, unless it was read before. */
  read(walks: readonly Walk[]): Promise<void>
  /** Gives a walk the value that it wanted, or ends it. */
  arrive(walk: Walk): void
}

type WantedObject = { project: string; version: VersionName }
type WantedRow = { project: string; row: string }

/**
 * Cache of what was read for one request: each thing is read once, up to the bytes that one request may use. Beyond
 * them, values count as missing, unless `overfull` throws.
 */
function createStore(db: Reader, overfull: () => false): Store {
  /** By the version that was asked for, which may be `latest` or an alias; undefined if it is known not to exist. */
  const versions = new Map<string, ObjectVersion | undefined>()
  /** By digest. */
  const values = new Map<string, Value | undefined>()
  const rows = new Map<string, Value>()
  let bytes = 0

  function fits(size: number): boolean {
    if (bytes + size > maxBytes) return overfull()
    bytes += size
    return true
  }

  async function readObjects(wanted: ReadonlyMap<string, WantedObject>) {
    const yieldToLoop = createYieldToLoop()
    for (const [project, all] of Map.groupBy(wanted.values(), (want) => want.project)) {
      const names = all.map(({ version }) => version)
      const readSome = async (some: readonly VersionName[]) => {
        for (const version of await readVersions(db, project, some)) {
          const key = objectKey(project, nameOf(version))
          if (wanted.has(key)) versions.set(key, version)
        }
      }
      await inSteps(batchesOf(names, atOnce), readSome, yieldToLoop)
      const fitting = new Map<string, ObjectVersion>()
      for (const name of names) {
        const pause = yieldToLoop()
        if (pause) await pause
        const key = objectKey(project, name)
        // Not a digest, so `latest`, a number or an alias.
        if (!versions.has(key)) versions.set(key, await readVersion(db, project, name))
        const version = versions.get(key)
        if (version === undefined || version.deleted_at !== null) continue
        const own = objectKey(project, nameOf(version))
        if (values.has(own)) continue
        values.set(own, undefined)
        if (fits(version.size)) fitting.set(own, version)
        else versions.set(key, undefined)
      }
      await readTheValues(project, [...fitting.values()])
    }
  }

  async function readTheValues(project: string, wanted: readonly ObjectVersion[]): Promise<void> {
    await inSteps(inLoads(wanted), async (some) => {
      for (const { object_id, digest, val } of await readValues(db, project, some)) {
        values.set(objectKey(project, { name: object_id, digest }), new Value(val))
      }
    })
  }

  async function readTheRows(wanted: ReadonlyMap<string, WantedRow>): Promise<void> {
    const yieldToLoop = createYieldToLoop()
    for (const [project, all] of Map.groupBy(wanted.values(), (want) => want.project)) {
      const digests = all.map(({ row }) => row)
      const readSome = async (some: readonly string[]) => {
        const sizes = await readRowSizes(db, project, some)
        const fitting = sizes.filter(({ size }) => fits(size)).map(({ digest }) => digest)
        for (const { digest, val } of await readRows(db, project, fitting)) {
          rows.set(rowKey(project, digest), new Value(val))
        }
      }
      await inSteps(batchesOf(digests, atOnce), readSome, yieldToLoop)
    }
  }

  return {
    async read(walks) {
      const someObjects = new Map<string, WantedObject>()
      const someRows = new Map<string, WantedRow>()
      for (const { want } of walks) {
        if (want === undefined) continue
        const key = 'row' in want ? rowKey(want.project, want.row) : objectKey(want.project, want.version)
        // Neither storage engine has such a name, and PostgreSQL rejects the query.
        if (key.includes('\0')) continue
        if ('row' in want) {
          if (!rows.has(key)) someRows.set(key, want)
        } else if (!versions.has(key)) someObjects.set(key, want)
      }
      await readObjects(someObjects)
      await readTheRows(someRows)
    },
    arrive(walk) {
      const { want } = walk
      if (want === undefined) return
      const { project } = want
      if ('row' in want) {
        const value = rows.get(rowKey(project, want.row))
        if (value === undefined) walk.end = { missingRow: want.row, project }
        else walk.value = value
        return
      }
      const version = versions.get(objectKey(project, want.version))
      const value = version && values.get(objectKey(project, nameOf(version)))
      if (version === undefined) walk.end = { missing: { ...want.version, project } }
      else if (value === undefined)
        walk.end = { deleted: { ...want.version, project, at: version.deleted_at ?? 0 } }
      else walk.value = value
    },
  }
}

/** Small values are read many at a time, and a large one alone, because a read blocks the event loop while it lasts. */
const load = 256 * 1024

function* inLoads(versions: readonly ObjectVersion[]): Generator<ObjectVersion[]> {
  let some: ObjectVersion[] = []
  let size = 0
  for (const version of versions) {
    if (some.length === atOnce || (some.length > 0 && size + version.size > load)) {
      yield some
      some = []
      size = 0
    }
    some.push(version)
    size += version.size
  }
  if (some.length > 0) yield some
}

function nameOf({ object_id, digest }: ObjectVersion): VersionName {
  return { name: object_id, digest }
}

function objectKey(project: string, { name, digest }: VersionName): string {
  return `${project}/${name}:${digest}`
}

function rowKey(project: string, digest: string): string {
  return `${project}/${digest}`
}
