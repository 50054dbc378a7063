import { createBreathing } from '../../domain/breathing.ts'
import { type Caller, reach } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json-text.ts'
import { parseRef, type Ref, type RefStep } from '../../domain/refs.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime } from '../../domain/time.ts'
import {
  type ObjectVersion,
  readValue,
  readVersion,
  readVersions,
  type VersionName,
} from '../../storage/objects.ts'
import { readRowSizes, readRows } from '../../storage/tables.ts'
import type { Reader } from '../../storage/transaction.ts'
import { Value } from './values.ts'

/** What a reference leads to. A step to what the value does not have finds null. */
export type Resolved =
  | { found: JsonText }
  | { deleted: VersionName & { project: string; at: number } }
  | { missing: VersionName & { project: string } }
  | { missingRow: string; project: string }

export type NamedRef = Extract<Ref, { kind: 'object' | 'op' }>

/** Values that are read for one request, in bytes. */
const mostBytes = 64 * 1024 * 1024
const atOnce = 100
/** A reference may lead to a value that holds the next reference, this many times. */
const mostHops = 8

const nothing = new Value('null')

/** Where a reference has got to: at a thing that is still to be read, or at a value. */
interface Walk {
  ref: NamedRef
  place: string
  steps: readonly RefStep[]
  hops: number
  want?: { project: string; version: VersionName } | { project: string; row: string }
  value?: Value
  end?: Resolved
}

/** References as `/refs/read_batch` takes them: of objects, in projects that the caller reaches. */
export function namedRefs(caller: Caller, refs: readonly string[], field = 'refs'): NamedRef[] {
  return refs.map((text, index) => {
    const place = `${field}.${index}`
    const ref = parseRef(text)
    if (ref === undefined || (ref.kind !== 'object' && ref.kind !== 'op')) {
      throw refuse('invalid_value', {
        field: place,
        given: shortly(text),
        accepted: 'a reference to an object or an op: <scheme>:///<entity>/<project>/object/<name>:<digest>',
      })
    }
    reach(caller, `${ref.entity}/${ref.project}`, place)
    return ref
  })
}

/** The values in the order of the references. What was deleted is null; what is missing refuses all of them. */
export async function resolveRefs(db: Reader, caller: Caller, refs: readonly string[]): Promise<JsonText[]> {
  const resolved = await resolveEach(db, caller, namedRefs(caller, refs))
  return resolved.map((one, index) => {
    if ('found' in one) return one.found
    if ('deleted' in one) return new JsonText('null')
    throw 'missingRow' in one
      ? refuse('row_not_found', {
          field: `refs.${index}`,
          digest: JSON.stringify(one.missingRow),
          project: JSON.stringify(one.project),
        })
      : objectNotFound(`refs.${index}`, one.missing.project, one.missing)
  })
}

export function objectNotFound(field: string, project: string, { name, digest }: VersionName) {
  return refuse('object_not_found', {
    field,
    name: JSON.stringify(name),
    version: JSON.stringify(digest),
    project: JSON.stringify(project),
  })
}

export function objectDeleted(field: string, project: string, { name, digest }: VersionName, at: number) {
  return refuse('object_deleted', {
    field,
    name: JSON.stringify(name),
    version: JSON.stringify(digest),
    project: JSON.stringify(project),
    deleted_at: formatTime(at),
  })
}

/** What each reference leads to, read in as few reads as the references allow. `field` is how a refusal names the list. */
export async function resolveEach(
  db: Reader,
  caller: Caller,
  refs: readonly NamedRef[],
  field = 'refs',
): Promise<Resolved[]> {
  const store = createStore(db)
  const breathe = createBreathing()
  const walks = refs.map(
    (ref, index): Walk => ({
      ref,
      place: `${field}.${index}`,
      steps: ref.path,
      hops: 0,
      want: wantOf(ref),
    }),
  )
  for (let waiting = walks; waiting.length > 0; waiting = waiting.filter(({ end }) => end === undefined)) {
    await store.read(waiting, field)
    for (const walk of waiting) {
      store.arrive(walk)
      if (walk.end === undefined) advance(walk, caller)
      const pause = breathe()
      if (pause) await pause
    }
  }
  return walks.map(({ end }) => end as Resolved)
}

function wantOf(ref: NamedRef): { project: string; version: VersionName } {
  return { project: `${ref.entity}/${ref.project}`, version: { name: ref.name, digest: ref.digest } }
}

/** Takes steps until the value is reached or another thing must be read. */
function advance(walk: Walk, caller: Caller): void {
  let value = walk.value ?? nothing
  delete walk.want
  while (walk.steps.length > 0) {
    const step = walk.steps[0] as RefStep
    const inner = value.string
    const next = inner === undefined ? undefined : parseRef(inner)
    if (step.edge === 'id') {
      if (next?.kind !== 'table') throw notATable(walk, value)
      const project = `${next.entity}/${next.project}`
      reach(caller, project, walk.place)
      hop(walk)
      walk.want = { project, row: step.value }
      walk.steps = walk.steps.slice(1)
      return
    }
    if (next?.kind === 'object') {
      reach(caller, `${next.entity}/${next.project}`, walk.place)
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
  if (++walk.hops <= mostHops) return
  throw refuse('invalid_value', {
    field: walk.place,
    given: `leads through more than ${mostHops} references`,
    accepted: `at most ${mostHops}`,
  })
}

function notATable(walk: Walk, value: Value) {
  return refuse('invalid_value', {
    field: walk.place,
    given: `"id" is asked of ${shortly(value.text)}`,
    accepted: '"id" behind a reference to a table, as in …/attr/rows/id/<row digest>',
  })
}

function shortly(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text
}

/** What was read for one request: each thing once, and not more bytes than one request may hold. */
function createStore(db: Reader) {
  const objects = new Map<string, { version: ObjectVersion | undefined; value?: Value }>()
  const rows = new Map<string, Value | undefined>()
  let bytes = 0

  function count(size: number, field: string): void {
    bytes += size
    if (bytes > mostBytes) throw refuse('answer_too_large', { field, limit: mostBytes })
  }

  async function readObjects(
    wanted: ReadonlyMap<string, { project: string; version: VersionName }>,
    field: string,
  ) {
    const byProject = Map.groupBy(wanted.values(), ({ project }) => project)
    for (const [project, all] of byProject) {
      for (let from = 0; from < all.length; from += atOnce) {
        const some = all.slice(from, from + atOnce).map(({ version }) => version)
        for (const version of await readVersions(db, project, some)) {
          const key = objectKey(project, { name: version.object_id, digest: version.digest })
          if (wanted.has(key)) objects.set(key, { version })
        }
      }
      for (const { version } of all) {
        const key = objectKey(project, version)
        // Not a digest, so `latest`, a number or an alias.
        if (!objects.has(key)) objects.set(key, { version: await readVersion(db, project, version) })
      }
    }
    for (const key of wanted.keys()) {
      const { version } = objects.get(key) ?? {}
      if (version !== undefined) count(version.size, field)
    }
    const breathe = createBreathing()
    for (const [key, { project }] of wanted) {
      const { version } = objects.get(key) ?? {}
      if (version === undefined || version.deleted_at !== null) continue
      const text = await readValue(db, project, { name: version.object_id, digest: version.digest })
      if (text !== null) objects.set(key, { version, value: new Value(text) })
      const pause = breathe()
      if (pause) await pause
    }
  }

  async function readTheRows(
    wanted: ReadonlyMap<string, { project: string; row: string }>,
    field: string,
  ): Promise<void> {
    const breathe = createBreathing()
    for (const [project, all] of Map.groupBy(wanted.values(), (one) => one.project)) {
      for (let from = 0; from < all.length; from += atOnce) {
        const digests = all.slice(from, from + atOnce).map(({ row }) => row)
        for (const { size } of await readRowSizes(db, project, digests)) count(size, field)
        for (const { digest, val } of await readRows(db, project, digests)) {
          rows.set(rowKey(project, digest), new Value(val))
        }
        const pause = breathe()
        if (pause) await pause
      }
    }
  }

  return {
    /** Reads what the walks want and what was not read before. */
    async read(walks: readonly Walk[], field: string): Promise<void> {
      const someObjects = new Map<string, { project: string; version: VersionName }>()
      const someRows = new Map<string, { project: string; row: string }>()
      for (const { want } of walks) {
        if (want === undefined) continue
        if ('row' in want) {
          const key = rowKey(want.project, want.row)
          if (!rows.has(key)) someRows.set(key, want)
        } else {
          const key = objectKey(want.project, want.version)
          if (!objects.has(key)) someObjects.set(key, want)
        }
      }
      await readObjects(someObjects, field)
      await readTheRows(someRows, field)
    },
    /** Gives a walk the value that it wanted, or its end. */
    arrive(walk: Walk): void {
      const { want } = walk
      if (want === undefined) return
      const { project } = want
      if ('row' in want) {
        const value = rows.get(rowKey(project, want.row))
        if (value === undefined) walk.end = { missingRow: want.row, project }
        else walk.value = value
        return
      }
      const { version, value } = objects.get(objectKey(project, want.version)) ?? {}
      if (version === undefined) walk.end = { missing: { ...want.version, project } }
      else if (value === undefined)
        walk.end = { deleted: { ...want.version, project, at: version.deleted_at ?? 0 } }
      else walk.value = value
    },
  }
}

function objectKey(project: string, { name, digest }: VersionName): string {
  return `${project}/${name}:${digest}`
}

function rowKey(project: string, digest: string): string {
  return `${project}/${digest}`
}
