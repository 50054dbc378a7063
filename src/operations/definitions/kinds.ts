import { z } from 'zod'
import { JsonText, writeJson } from '../../domain/json/text.ts'
import { tableRef } from '../../domain/refs.ts'
import { wrong } from '../../domain/refusals.ts'
import type { Database } from '../../storage/database.ts'
import { pieceBytes, readFileEntry, readPiece } from '../../storage/objects/files.ts'
import { openUpload } from '../../storage/objects/upload.ts'
import { givenValue } from '../objects/classes.ts'
import { type CreatedObject, createObject } from '../objects/create.ts'
import type { Value } from '../objects/values.ts'
import type { OperationParts } from '../parts.ts'
import type { Scope } from '../scope.ts'
import { checkScorer } from '../scorers/runnable.ts'
import { storeTable } from '../tables/create.ts'
import * as contract from './contract.ts'
import {
  checkName,
  createdAnswer,
  createOfClass,
  definitionKind,
  memberOf,
  namedFields,
  objectIdOf,
  refOf,
  versionFields,
} from './kind.ts'

/** Source code is read whole. */
const maxBytes = 4 * 1024 * 1024

/** Stores source code as a file of the project and returns its digest. */
async function storeSource(db: Database, project: string, code: string): Promise<string> {
  const upload = openUpload(db, project, Number.POSITIVE_INFINITY)
  try {
    await upload.add(Buffer.from(code))
    return await upload.finish()
  } catch (error) {
    // The sweep removes what this fails to remove.
    await Promise.allSettled([upload.drop()])
    throw error
  }
}

/** The text of the file that a value names; null if there is none, or if it is too long to be source code. */
async function readSource(db: Database, project: string, val: Value, file: string): Promise<string | null> {
  const digest = val.member('files')?.member(file)?.string
  const entry = digest === undefined ? undefined : await readFileEntry(db, project, digest)
  if (entry === undefined || entry.size > maxBytes) return null
  const pieces: Uint8Array[] = []
  for (let position = 0; position * pieceBytes < entry.size; position++) {
    const bytes = await readPiece(db, project, entry.upload_id, position)
    if (bytes === undefined) return null
    pieces.push(bytes)
  }
  return Buffer.concat(pieces).toString('utf8')
}

const opFile = 'obj.py'
const modelFile = 'model.py'

/** An op is its source code. */
async function createOp(
  { db }: OperationParts,
  { caller, project }: Scope,
  name: string,
  code: string,
): Promise<CreatedObject> {
  const object_id = objectIdOf(name)
  const marks = { _type: 'CustomWeaveType', weave_type: { type: 'Op' } }
  const text = writeJson({ ...marks, files: { [opFile]: await storeSource(db, project, code) } })
  return createObject(db, caller, { project_id: project, object_id, val: givenValue(new JsonText(text)) }, [])
}

export const ops = definitionKind({
  path: 'ops',
  noun: 'op',
  filter: { is_op: true },
  body: contract.OpBody,
  created: contract.createdWith({}),
  record: contract.OpRecord,
  async create(options, scope, { name, source_code }) {
    return createdAnswer(await createOp(options, scope, name, source_code ?? ''))
  },
  async describe({ db }, version, val) {
    return { ...versionFields(version), code: await readSource(db, version.project_id, val, opFile) }
  },
})

/** A dataset is a name for a table. */
export const datasets = definitionKind({
  path: 'datasets',
  noun: 'dataset',
  filter: { base_object_classes: ['Dataset'] },
  body: contract.DatasetBody,
  created: contract.createdWith({}),
  record: contract.DatasetRecord,
  async create(options, scope, { name, description, rows }) {
    const datasetName = name ?? 'Dataset'
    await checkName(options, scope, datasetName, 'Dataset')
    const { project } = scope
    const { digest } = await storeTable(options.db, project, rows, [])
    const dataset = await createOfClass(options, scope, datasetName, 'Dataset', {
      name: datasetName,
      description: description ?? null,
      rows: tableRef(options.refScheme, project, digest),
    })
    return createdAnswer(dataset)
  },
  async describe(_, version, val) {
    return { ...namedFields(version, val), rows: memberOf(val, 'rows') }
  },
})

/** A scorer names an op that scores, or has a judge or a check that this server runs. */
export const scorers = definitionKind({
  path: 'scorers',
  noun: 'scorer',
  filter: { base_object_classes: ['Scorer'] },
  body: contract.ScorerBody,
  created: contract.createdWith({ scorer: z.string().describe('A reference to the scorer.') }),
  record: contract.ScorerRecord,
  async create(options, scope, body, signal) {
    const { name, description, op_source_code: code, judge, check, fields, direction } = body
    requireOne({ op_source_code: code, judge, check })
    if (code == null) await checkScorer(options, scope, body, signal)
    await checkName(options, scope, name, 'Scorer')
    const runs =
      code == null
        ? { ...(judge ? { judge } : { check }), fields: fields ?? {} }
        : { score: refOf(options, scope, await createOp(options, scope, `${name}.score`, code)) }
    const scorer = await createOfClass(options, scope, name, 'Scorer', {
      name,
      description: description ?? null,
      ...runs,
      ...(direction != null && { direction }),
    })
    return { ...createdAnswer(scorer), scorer: refOf(options, scope, scorer) }
  },
  async describe(_, version, val) {
    return {
      ...namedFields(version, val),
      score_op: val.member('score')?.string ?? null,
      judge: memberOf(val, 'judge'),
      check: memberOf(val, 'check'),
      fields: memberOf(val, 'fields'),
      direction: val.member('direction')?.string ?? null,
    }
  },
})

function requireOne(fields: Record<string, unknown>): void {
  const names = Object.keys(fields).filter((name) => fields[name] != null)
  if (names.length === 1) return
  throw wrong(
    names[1] ?? 'judge',
    names.length === 0 ? 'nothing' : `a value together with ${names[0]}`,
    `one of ${Object.keys(fields).join(', ')}`,
  )
}

/** An evaluation names its dataset and its scorers. */
export const evaluations = definitionKind({
  path: 'evaluations',
  noun: 'evaluation',
  filter: { base_object_classes: ['Evaluation'] },
  body: contract.EvaluationBody,
  created: contract.createdWith({ evaluation_ref: z.string() }),
  record: contract.EvaluationRecord,
  async create(options, scope, body) {
    const evaluation = await createOfClass(options, scope, body.name, 'Evaluation', {
      name: body.name,
      description: body.description ?? null,
      dataset: body.dataset,
      scorers: body.scorers ?? [],
      trials: body.trials ?? 1,
      evaluation_name: body.evaluation_name ?? null,
      eval_attributes: body.eval_attributes ?? null,
    })
    return { ...createdAnswer(evaluation), evaluation_ref: refOf(options, scope, evaluation) }
  },
  async describe(_, version, val) {
    return {
      ...namedFields(version, val),
      dataset: memberOf(val, 'dataset'),
      scorers: memberOf(val, 'scorers'),
      trials: memberOf(val, 'trials'),
      evaluation_name: val.member('evaluation_name')?.string ?? null,
      eval_attributes: memberOf(val, 'eval_attributes'),
    }
  },
})

/** A model is its source code and what describes it. */
export const models = definitionKind({
  path: 'models',
  noun: 'model',
  filter: { base_object_classes: ['Model'] },
  body: contract.ModelBody,
  created: contract.createdWith({ model_ref: z.string() }),
  record: contract.ModelRecord,
  async create(options, scope, { name, description, source_code, attributes }) {
    await checkName(options, scope, name, 'Model')
    const model = await createOfClass(options, scope, name, 'Model', {
      name,
      description: description ?? null,
      attributes: attributes ?? null,
      files: { [modelFile]: await storeSource(options.db, scope.project, source_code) },
    })
    return { ...createdAnswer(model), model_ref: refOf(options, scope, model) }
  },
  async describe({ db }, version, val) {
    return {
      ...namedFields(version, val),
      source_code: await readSource(db, version.project_id, val, modelFile),
      attributes: memberOf(val, 'attributes'),
    }
  },
})
