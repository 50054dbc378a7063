import { z } from 'zod'
import { createdWith, ModelBody, ModelRecord } from './contract.ts'
import {
  createdAnswer,
  createOfClass,
  definitionKind,
  memberOf,
  namedFields,
  objectIdOf,
  refOf,
} from './kind.ts'
import { keepSource, readSource } from './source.ts'

const file = 'model.py'

/** A model is its source code and what describes it. */
export const models = definitionKind({
  path: 'models',
  noun: 'model',
  filter: { base_object_classes: ['Model'] },
  body: ModelBody,
  created: createdWith({ model_ref: z.string() }),
  record: ModelRecord,
  async create(options, place, { name, description, source_code, attributes }) {
    objectIdOf(name)
    const model = await createOfClass(options, place, name, 'Model', {
      name,
      description: description ?? null,
      attributes: attributes ?? null,
      files: { [file]: await keepSource(options.db, place.project, source_code) },
    })
    return { ...createdAnswer(model), model_ref: refOf(options, place, model) }
  },
  async describe({ db }, version, val) {
    return {
      ...namedFields(version, val),
      source_code: await readSource(db, version.project_id, val, file),
      attributes: memberOf(val, 'attributes'),
    }
  },
})
