import { JsonText, writeJson } from '../../domain/json/text.ts'
import { type CreatedObject, createObject } from '../objects/create.ts'
import { createdWith, OpBody, OpRecord } from './contract.ts'
import {
  createdAnswer,
  type Definitions,
  definitionKind,
  objectIdOf,
  type Place,
  versionFields,
} from './kind.ts'
import { keepSource, readSource } from './source.ts'

const file = 'obj.py'

/** An op is its source code. */
export async function createOp(
  { db }: Definitions,
  { caller, project }: Place,
  name: string,
  code: string,
): Promise<CreatedObject> {
  const object_id = objectIdOf(name)
  const marks = { _type: 'CustomWeaveType', weave_type: { type: 'Op' } }
  const text = writeJson({ ...marks, files: { [file]: await keepSource(db, project, code) } })
  return createObject(db, caller, { project_id: project, object_id, val: new JsonText(text) }, [])
}

export const ops = definitionKind({
  path: 'ops',
  noun: 'op',
  filter: { is_op: true },
  body: OpBody,
  created: createdWith({}),
  record: OpRecord,
  async create(options, place, { name, source_code }) {
    return createdAnswer(await createOp(options, place, name, source_code ?? ''))
  },
  async describe({ db }, version, val) {
    return { ...versionFields(version), code: await readSource(db, version.project_id, val, file) }
  },
})
