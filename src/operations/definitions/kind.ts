import type { z } from 'zod'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { objectRef } from '../../domain/refs.ts'
import { refuse } from '../../domain/refusals.ts'
import { formatTime } from '../../domain/time.ts'
import { classOfName, type ObjectVersion, type ObjectWithValue } from '../../storage/objects/objects.ts'
import { givenValue } from '../objects/classes.ts'
import { objectId } from '../objects/contract.ts'
import { type CreatedObject, classConflict, createObject } from '../objects/create.ts'
import type { Value } from '../objects/values.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'

/** A kind of definition: objects of a certain shape, with their own way to create and describe them. */
export interface DefinitionKind<Body extends z.ZodType> {
  path: 'ops' | 'datasets' | 'scorers' | 'evaluations' | 'models'
  noun: string
  /** Which objects are of this kind. */
  filter: { is_op: true } | { base_object_classes: string[] }
  body: Body
  created: z.ZodType
  record: z.ZodType
  create(
    options: OperationParts,
    scope: Scope,
    body: z.output<Body>,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>>
  describe(options: OperationParts, version: ObjectWithValue, val: Value): Promise<Record<string, unknown>>
}

/** Exists for its types only: `create` accepts what `body` parses to. */
export function definitionKind<Body extends z.ZodType>(kind: DefinitionKind<Body>): DefinitionKind<Body> {
  return kind
}

/** Refuses a name from which no object id can be made, before anything is stored. */
export function objectIdOf(name: string): string {
  const id = name.toLowerCase().replace(/[ /]/g, '_').replace(/[<>]/g, '')
  if (objectId.safeParse(id).success) return id
  const msg = `expected a name of at most 128 letters, digits, "_", "." and "-", received ${JSON.stringify(name.slice(0, 80))}`
  throw refuse('invalid_request', { origin: 'body', what: `name: ${msg}`, field: 'name' }, [
    { loc: ['body', 'name'], msg, type: 'custom' },
  ])
}

/** Refuses a name whose versions have another class, before anything that belongs to the object is stored. */
export async function checkName(
  { db }: OperationParts,
  { project }: Scope,
  name: string,
  className: string,
): Promise<void> {
  const id = objectIdOf(name)
  const held = await classOfName(db, project, id)
  if (held !== undefined && held !== className) throw classConflict('object_id', id, held, className)
}

/** Stores the object of a class, with the marks that clients look for. */
export function createOfClass(
  { db }: OperationParts,
  { caller, project }: Scope,
  name: string,
  className: string,
  members: Record<string, unknown>,
): Promise<CreatedObject> {
  const marks = { _type: className, _class_name: className, _bases: ['Object', 'BaseModel'] }
  const text = writeJson({ ...marks, ...members })
  const val = givenValue(new JsonText(text))
  return createObject(db, caller, { project_id: project, object_id: objectIdOf(name), val }, [])
}

export function createdAnswer({ digest, object_id, version_index }: CreatedObject) {
  return { digest, object_id, version_index }
}

export function refOf(
  { refScheme }: OperationParts,
  { project }: Scope,
  { kind, object_id, digest }: CreatedObject,
): string {
  return objectRef(refScheme, project, kind, object_id, digest)
}

export function versionFields({ object_id, digest, version_index, created_at }: ObjectVersion) {
  return { object_id, digest, version_index, created_at: formatTime(created_at) }
}

export function namedFields(version: ObjectVersion, val: Value) {
  return {
    ...versionFields(version),
    name: val.member('name')?.string ?? null,
    description: val.member('description')?.string ?? null,
  }
}

/** A member of the value as it is stored, or null. */
export function memberOf(val: Value, name: string): JsonText | null {
  const member = val.member(name)
  return member === undefined || member.text === 'null' ? null : new JsonText(member.text)
}
