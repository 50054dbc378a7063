import { z } from 'zod'
import { membersOf, objectText } from '../../../packages/json/index.ts'
import { parseRef } from '../../domain/refs.ts'
import type { Started } from '../served-runs/contract.ts'
import { type Asking, pathOf, refOf, ToolError } from './asking.ts'
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
      members.set('rows', JSON.stringify(JSON.parse(rows).replace(table.digest, digest)))
      const name = JSON.stringify({ project_id: project, object_id: dataset, expected_latest: before })
      try {
        const created = await asking.text(
          '/obj/create',
          `{"obj":${name.slice(0, -1)},"val":${objectText(members)}}}`,
        )
        return { dataset, digest: JSON.parse(created).digest }
      } catch (error) {
        // The rows of a version that was written meanwhile would be lost.
        if (!(error instanceof ToolError) || error.code !== 'object_changed') throw error
      }
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

export const runEvaluation = tool({
  name: 'run_evaluation',
  title: 'Run an evaluation',
  description:
    'Let the server ask a model about every row of a dataset and score the answers. Returns ids at once: poll get_evaluation.',
  input: z.strictObject({
    project,
    name: z.string().min(1).max(64),
    dataset: z.string().min(1).max(2048).describe('Name or reference'),
    prompt: z.string().max(65_536).optional().describe('With {columns}. Default: the column messages'),
    system: z.string().max(65_536).optional(),
    request: z.looseObject({}).optional().describe('{"model": …, "temperature": 0}'),
    scorers: z.array(z.string().max(2048)).max(16).default([]).describe('Names or references'),
  }),
  output: z.object({ ids: z.array(z.string()), trials: z.int() }),
  changes: { isRepeatable: false },
  async run(asking, { project, name, dataset, prompt, system, request, scorers }) {
    const started = await asking.post<z.output<typeof Started>>(
      `/v2/${pathOf(project)}/evaluation_runs/serve`,
      {
        name,
        dataset: refOf(asking, project, dataset),
        ...(prompt !== undefined && { prompt }),
        settings: [{ name, ...(system !== undefined && { system }), ...(request && { request }) }],
        scorers: scorers.map((scorer) => ({ scorer: refOf(asking, project, scorer) })),
      },
    )
    return { ids: started.evaluation_run_ids, trials: started.trials }
  },
})
