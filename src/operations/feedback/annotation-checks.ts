import { membersOf } from '../../../packages/json/index.ts'
import { type Refusal, refuse } from '../../domain/refusals.ts'
import type { SchemaChecks } from '../../schemas/checks.ts'
import { readValue, readVersion, type VersionName } from '../../storage/objects/objects.ts'
import type { Reader } from '../../storage/transaction.ts'
import { AnnotationSpec, largestSpec, maxSchemaLength } from '../objects/annotation-spec.ts'
import { objectNotFound } from '../objects/resolve.ts'

const Description = AnnotationSpec.omit({ field_schema: true })

/** The spec version that an annotation reference leads to. */
export interface SpecGiven extends VersionName {
  project: string
  ref: string
  field: string
}

interface AnnotationChecks {
  /** The field schema of the spec, as JSON. */
  schemaOf(spec: SpecGiven): Promise<string>
  /** Refuses a value that does not fit the spec. */
  check(spec: SpecGiven, value: string, field: string): Promise<void>
}

/** Whether the caller may read an object of this name. */
export type MayRead = (project: string, name: string) => Promise<boolean>

/**
 * Checks the annotations of a request against the specs that they name, each of which is read once. A refusal quotes the
 * spec, so one that the caller may not read does not exist.
 */
export function createAnnotationChecks(
  db: Reader,
  schemas: SchemaChecks,
  tenant: string,
  mayRead: MayRead,
): AnnotationChecks {
  const read = new Map<string, Promise<string>>()

  function schemaOf(spec: SpecGiven): Promise<string> {
    const key = `${spec.project} ${spec.ref}`
    let schema = read.get(key)
    if (schema === undefined) {
      schema = readSchema(db, spec, mayRead)
      read.set(key, schema)
    }
    return schema
  }

  return {
    schemaOf,
    async check(specRef, value, field) {
      const schema = await schemaOf(specRef)
      const result = await schemas.check(tenant, schema, value)
      const spec = JSON.stringify(specRef.ref)
      switch (result.kind) {
        case 'valid':
          return
        case 'invalid': {
          const { path, received, why } = result
          throw refuse('annotation_mismatch', { field: [field, ...path].join('.'), received, spec, why })
        }
        case 'schema_error':
          throw invalidSpec(specRef, `field_schema is not a JSON Schema that can be checked: ${result.why}`)
        case 'over_budget':
          throw refuse('annotation_too_costly', { field, spec, limit: result.limit })
      }
    },
  }
}

async function readSchema(db: Reader, spec: SpecGiven, mayRead: MayRead): Promise<string> {
  const version = await readVersion(db, spec.project, spec)
  if (version === undefined || !(await mayRead(spec.project, spec.name)))
    throw objectNotFound(spec.field, spec.project, spec)
  const text =
    version.size > largestSpec
      ? undefined
      : await readValue(db, spec.project, { name: spec.name, digest: version.digest })
  if (version.deleted_at !== null || text === null) throw invalidSpec(spec, 'it was deleted')
  if (text === undefined) throw invalidSpec(spec, `it is larger than ${largestSpec} bytes`)
  const value: unknown = JSON.parse(text)
  const result = Description.safeParse(value)
  if (!result.success) {
    const [issue] = result.error.issues
    const path = issue?.path.join('.')
    throw invalidSpec(spec, `${path ? `${path}: ` : ''}${issue?.message.replace(/^Invalid input: /, '')}`)
  }
  const schema = membersOf(text).get('field_schema') ?? '{}'
  if (!/^[{tf]/.test(schema)) throw invalidSpec(spec, 'field_schema is not a JSON Schema')
  if (schema.length > maxSchemaLength) {
    throw invalidSpec(spec, `field_schema is longer than ${maxSchemaLength} characters`)
  }
  return schema
}

function invalidSpec({ field, ref }: SpecGiven, why: string): Refusal {
  return refuse('invalid_annotation_spec', { field, received: ref, why })
}
