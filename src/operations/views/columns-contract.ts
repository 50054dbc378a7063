import { z } from 'zod'
import { answer } from '../../domain/fields.ts'
import { selection } from './contract.ts'

const count = z.int().min(0)

export const defaultSample = 500
export const maxColumns = 200

export const ColumnsBody = z.strictObject({
  ...selection,
  sample: z.int().min(1).max(2_000).nullish().meta({
    default: defaultSample,
    description: 'How many of the newest calls of the view are examined.',
  }),
})
export type ColumnsBody = z.output<typeof ColumnsBody>

const valueType = z.enum(['string', 'number', 'boolean', 'null', 'object', 'list'])
export type ValueType = z.output<typeof valueType>

export const FoundColumn = z.object({
  field: z.string().describe('The field, as used in queries, sorts and `columns`.'),
  count: count.describe('Number of sampled calls that have the field.'),
  types: z.partialRecord(valueType, count),
})
export type FoundColumn = z.output<typeof FoundColumn>

export const ColumnsAnswer = answer('The fields of the newest calls of a view, most frequent first.', {
  columns: z.array(FoundColumn),
  sampled: count.describe('Number of calls that were examined.'),
  others: count.describe(`Number of fields beyond the first ${maxColumns}.`),
  too_large: count.describe(
    'Number of inputs, outputs and other values of more than 64 KiB, which were skipped.',
  ),
})
