import { z } from 'zod'
import { described, openFields } from '../../../packages/filter/index.ts'
import { opNameOf } from '../../domain/refs.ts'
import type { ObjectRecord } from '../objects/contract.ts'
import type { ListAnswer as Projects } from '../projects/contract.ts'
import type { ColumnsAnswer } from '../views/columns-contract.ts'
import type { FacetsAnswer } from '../views/contract.ts'
import type { Asking } from './asking.ts'
import { fitting, head } from './fitting.ts'
import { cut, project, tool } from './tool.ts'

const maxProjects = 100
const maxValues = 8
const maxNames = 12

const grammar = [
  'Conditions side by side must all hold; OR, parentheses and a minus before a condition work; a word alone is part of inputs or output.',
  'field:value, field:>value, field:"part of a text", field:="the whole text". Times in UTC end in Z.',
  ...[...described, ...openFields].map(({ field, means }) => `${field}: ${means}`),
].join('\n')

const names = z.array(z.string())

export const describeRecord = tool({
  name: 'describe_record',
  title: 'Describe the record',
  description:
    'Call this first. Without project: your projects. With it: how many calls, their ops, models and fields, datasets, scorers, served models, and the grammar of `filter`.',
  input: z.strictObject({ project: project.optional().describe('entity/project') }),
  output: z.object({
    projects: names.optional(),
    calls: z.int().optional(),
    values: z.looseObject({}).optional(),
    fields: names.optional(),
    datasets: names.optional(),
    scorers: names.optional(),
    models: names.optional(),
    filter_grammar: z.string().optional(),
    cut,
  }),
  async run(asking, { project }) {
    if (project === undefined) return projectsOf(asking)
    const [{ count }, values, columns, datasets, scorers, models] = await Promise.all([
      asking.post<{ count: number }>('/calls/query_stats', { project_id: project }),
      valuesOf(asking, project),
      asking.post<z.output<typeof ColumnsAnswer>>('/views/columns', { project_id: project }),
      namesOf(asking, project, 'Dataset'),
      namesOf(asking, project, 'Scorer'),
      asking.get<{ data: { id: string }[] }>('/v1/models'),
    ])
    const found = {
      calls: count,
      values,
      datasets,
      scorers,
      models: models.data.slice(0, maxNames).map(({ id }) => head(id, 80)),
      filter_grammar: grammar,
    }
    const fields = columns.columns.map(
      ({ field, types }) => `${head(field, 120)} (${Object.keys(types).join(', ')})`,
    )
    const shown = fitting(fields, found)
    return {
      ...found,
      fields: shown,
      ...(shown.length < fields.length && { cut: `${fields.length - shown.length} rarer fields` }),
    }
  },
})

async function projectsOf(asking: Asking) {
  const { projects, next } = await asking.get<z.output<typeof Projects>>(`/projects?limit=${maxProjects}`)
  const all = projects.map(({ project }) => project)
  const shown = fitting(all, {})
  const isCut = next !== null || shown.length < all.length
  return { projects: shown, ...(isCut && { cut: 'more projects; GET /projects lists them' }) }
}

/** The most frequent values of what calls are filtered by. */
async function valuesOf(asking: Asking, project: string) {
  const body = { project_id: project, fields: ['op', 'model', 'status', 'feedback'] }
  const { facets } = await asking.post<z.output<typeof FacetsAnswer>>('/views/facets', body)
  return Object.fromEntries(
    facets.map(({ field, values }) => [
      field,
      values
        .slice(0, maxValues)
        .map(({ value, count }) => `${head(opNameOf(value ?? 'none'), 80)} (${count})`),
    ]),
  )
}

async function namesOf(asking: Asking, project: string, objectClass: string): Promise<string[]> {
  const { objs } = await asking.post<{ objs: z.output<typeof ObjectRecord>[] }>('/objs/query', {
    project_id: project,
    filter: { base_object_classes: [objectClass], latest_only: true },
    metadata_only: true,
    sort_by: [{ field: 'created_at', direction: 'desc' }],
    limit: maxNames,
  })
  return objs.map(({ object_id }) => head(object_id, 80))
}
