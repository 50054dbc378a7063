import { z } from 'zod'
import { membersOf, objectText } from '../../../packages/json/index.ts'
import { parseRef } from '../../domain/refs.ts'
import { type Asking, ToolError } from './asking.ts'
import { project, tool } from './tool.ts'

const maxTries = 5

export const addDatasetRow = tool({
  name: 'add_dataset_row',
  title: 'Add a row to a dataset',
  description: 'Write a version of a dataset with one more row. Earlier versions stay.',
  input: z.strictObject({
    project,
    dataset: z.string().min(1).max(512).describe('Name'),
    row: z.looseObject({}),
  }),
  output: z.object({ dataset: z.string(), digest: z.string() }),
  changes: { isRepeatable: false },
  async run(asking, { project, dataset, row }) {
    for (let turn = 0; turn < maxTries; turn++) {
      const { digest: before, val } = await latestOf(asking, project, dataset)
      const members = membersOf(val)
      const rows = members.get('rows') ?? 'null'
      const table = rows.startsWith('"') ? parseRef(JSON.parse(rows)) : undefined
      if (table?.kind !== 'table' || table.project !== project) {
        throw new ToolError(`dataset: ${JSON.stringify(dataset)} is no dataset with a table of this project`)
      }
      const { digest } = await asking.post<{ digest: string }>('/table/update', {
        project_id: project,
        base_digest: table.digest,
        updates: [{ append: { row } }],
      })
      // The rows of a version that was written meanwhile would be lost.
      if ((await latestOf(asking, project, dataset)).digest !== before) continue
      members.set('rows', JSON.stringify(JSON.parse(rows).replace(table.digest, digest)))
      const created = await asking.text(
        '/obj/create',
        `{"obj":{"project_id":${JSON.stringify(project)},"object_id":${JSON.stringify(dataset)},"val":${objectText(members)}}}`,
      )
      return { dataset, digest: JSON.parse(created).digest }
    }
    throw new ToolError(`dataset: others are writing ${JSON.stringify(dataset)}; try again`)
  },
})

async function latestOf(asking: Asking, project: string, dataset: string) {
  const text = await asking.text('/obj/read', { project_id: project, object_id: dataset, digest: 'latest' })
  const object = membersOf(membersOf(text).get('obj') ?? '{}')
  const val = object.get('val') ?? 'null'
  return {
    digest: JSON.parse(object.get('digest') ?? 'null') as string,
    val: val.startsWith('{') ? val : '{}',
  }
}
