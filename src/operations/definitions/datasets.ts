import { storeTable } from '../tables/create.ts'
import { createdWith, DatasetBody, DatasetRecord } from './contract.ts'
import { createdAnswer, createOfClass, definitionKind, memberOf, namedFields, objectIdOf } from './kind.ts'

/** A dataset is a name for a table. */
export const datasets = definitionKind({
  path: 'datasets',
  noun: 'dataset',
  filter: { base_object_classes: ['Dataset'] },
  body: DatasetBody,
  created: createdWith({}),
  record: DatasetRecord,
  async create(options, place, { name, description, rows }) {
    const given = name ?? 'Dataset'
    objectIdOf(given)
    const table = await storeTable(options.db, place.project, rows, [])
    const dataset = await createOfClass(options, place, given, 'Dataset', {
      name: given,
      description: description ?? null,
      rows: `${options.refScheme}:///${place.project}/table/${table.digest}`,
    })
    return createdAnswer(dataset)
  },
  async describe(_, version, val) {
    return { ...namedFields(version, val), rows: memberOf(val, 'rows') }
  },
})
