import { z } from 'zod'
import { answer, digestedObject, flag, longList, plainText, projectId, traits } from '../../domain/fields.ts'
import { limit, offset, sortBy } from '../paging-contract.ts'

const digestGiven = plainText(256).min(1)
const rowDigests = z.array(z.string())

export const CreateBody = z.object({
  table: z.object({
    project_id: projectId,
    rows: longList(digestedObject()).describe('Their order and duplicates are kept.'),
    expected_digest: plainText(256).nullish(),
  }),
})
export type CreateBody = z.output<typeof CreateBody>
export const CreateAnswer = answer('The digests of the table and of its rows.', {
  digest: z.string(),
  row_digests: rowDigests,
})

/** Its range depends on the table, so the rules check it. */
const index = z.int()

const changes = ['append', 'pop', 'insert']

/** Exactly one change: two would have no order. */
export const TableUpdate = z.preprocess(
  (value, context) => {
    if (typeof value !== 'object' || value === null) return value
    const named = changes.filter((name) => (value as Record<string, unknown>)[name] != null)
    if (named.length > 1) {
      const message = `expected one of append, pop and insert, received ${named.join(' and ')}`
      context.issues.push({ code: 'custom', input: value, message })
    }
    return value
  },
  z.union(
    [
      z.object({ append: z.object({ row: digestedObject() }) }),
      z.object({ pop: z.object({ index }) }),
      z.object({ insert: z.object({ index, row: digestedObject() }) }),
    ],
    { error: 'expected an object with append, pop or insert' },
  ),
)
traits.add(TableUpdate, { isTransparent: true })
export type TableUpdate = z.output<typeof TableUpdate>

export const UpdateBody = z.object({
  project_id: projectId,
  base_digest: digestGiven,
  updates: longList(TableUpdate).describe('Applied in order.'),
})
export type UpdateBody = z.output<typeof UpdateBody>
export const UpdateAnswer = answer('The digests of the new table and of the rows that changed.', {
  digest: z.string(),
  updated_row_digests: rowDigests,
})

export const FromDigestsBody = z.object({
  project_id: projectId,
  row_digests: longList(digestGiven),
  expected_digest: plainText(256).nullish(),
})
export type FromDigestsBody = z.output<typeof FromDigestsBody>
export const FromDigestsAnswer = answer('The digest of the table.', { digest: z.string() })

export const QueryBody = z.strictObject({
  project_id: projectId,
  digest: digestGiven,
  filter: z.strictObject({ row_digests: z.array(digestGiven).max(1000).nullish() }).nullish(),
  limit,
  offset,
  sort_by: sortBy().describe('Paths into the rows. Default: the order of the table.'),
})
export type QueryBody = z.output<typeof QueryBody>

export const QueryAnswer = answer('The rows of the page.', {
  rows: z.array(z.object({ digest: z.string(), val: z.unknown(), original_index: z.number().int() })),
})

export const StatsBody = z.object({ project_id: projectId, digest: digestGiven })
export type StatsBody = z.output<typeof StatsBody>
export const StatsAnswer = answer('Number of rows of the table.', { count: z.number().int() })

export const StatsBatchBody = z.object({
  project_id: projectId,
  digests: z.array(digestGiven).max(1000),
  include_storage_size: flag(false),
})
export type StatsBatchBody = z.output<typeof StatsBatchBody>
export const StatsBatchAnswer = answer('Number of rows of each table.', {
  tables: z.array(
    z.object({
      digest: z.string(),
      count: z.number().int(),
      storage_size_bytes: z.number().int().nullable(),
    }),
  ),
})
