import { membersOf } from '../../../packages/json/index.ts'
import { type Caller, requireAccess, requireScope } from '../../domain/callers.ts'
import { JsonText } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import { now } from '../../domain/time.ts'
import type { SchemaChecks } from '../../schemas/checks.ts'
import type { Database } from '../../storage/database.ts'
import { type ObjectKind, readVersion } from '../../storage/objects/objects.ts'
import { annotationSpecOf } from './annotation-spec.ts'
import { columnsOf, type GivenValue, givenValue } from './classes.ts'
import type { CreateBody } from './contract.ts'

interface ObjectGiven {
  project_id: string
  object_id: string
  /** A JavaScript null stands for the JSON value null. */
  val: GivenValue | null
  expected_digest?: string | null | undefined
  expected_latest?: string | null | undefined
}

export interface CreatedObject {
  digest: string
  object_id: string
  version_index: number
  kind: ObjectKind
}

/**
 * Stores a value under a name. A value that is stored already is the same version, which becomes the latest again.
 * `path` is the path of the object in the request, for refusals.
 */
export async function createObject(
  db: Database,
  caller: Caller,
  object: ObjectGiven,
  path: readonly string[] = ['obj'],
): Promise<CreatedObject> {
  const { project_id, object_id, expected_digest, expected_latest } = object
  const at = (field: string) => [...path, field].join('.')
  requireAccess(caller, project_id, at('project_id'))
  const value = object.val ?? nullValue
  const { digest, kind, base } = value
  // Monitors ask the latest version of a judge in the name of their users.
  if (base === 'Scorer' && (membersOf(value.val.text).get('judge') ?? 'null') !== 'null')
    requireScope(caller, 'infer')
  if (expected_digest != null && expected_digest !== digest) {
    throw refuse('digest_differs', { field: at('expected_digest'), received: expected_digest, digest })
  }
  const known = await readVersion(db, project_id, { name: object_id, digest })
  // Clients create their ops again and again. If nothing changes, nothing is written.
  if (known?.digest === digest && known.is_latest === 1) {
    return { digest, object_id, version_index: known.version_index, kind }
  }
  const stored = await db.write('keepObject', {
    project_id,
    object_id,
    ...columnsOf(value),
    user_id: caller.name,
    now: now(),
    expected_latest: expected_latest ?? null,
  })
  if ('latest' in stored) {
    throw refuse('object_changed', {
      field: at('expected_latest'),
      received: JSON.stringify(expected_latest),
      latest: stored.latest ?? 'none',
    })
  }
  if ('conflict' in stored) throw classConflict(at('object_id'), object_id, stored.conflict, base ?? '')
  return { digest, object_id, version_index: stored.version_index, kind }
}

export function classConflict(field: string, name: string, held: string, ownClass: string) {
  return refuse('class_conflict', { field, received: name, held, class: ownClass })
}

const nullValue = givenValue(new JsonText('null'))

/** The same for a value that names a class of this server: it is checked and gets the marks of the class. */
export async function createGivenObject(
  db: Database,
  schemas: SchemaChecks,
  caller: Caller,
  obj: CreateBody['obj'],
): Promise<CreatedObject> {
  requireAccess(caller, obj.project_id, 'obj.project_id')
  const { builtin_object_class: builtin, ...object } = obj
  if (builtin == null) return createObject(db, caller, object)
  if (builtin !== 'AnnotationSpec') {
    throw wrong('obj.builtin_object_class', JSON.stringify(builtin), 'AnnotationSpec')
  }
  const { val } = object.val ?? nullValue
  const spec = await annotationSpecOf(schemas, caller.name, val, ['obj', 'val'])
  return createObject(db, caller, { ...object, val: givenValue(spec) })
}
