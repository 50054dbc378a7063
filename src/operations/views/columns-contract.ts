import { z } from 'zod'
import { answer } from '../../domain/fields.ts'
import { selection } from './contract.ts'

const count = z.int().min(0)

export const usualSample = 500
export const mostColumns = 200

export const ColumnsBody = z.strictObject({
  ...selection,
  sample: z.int().min(1).max(2_000).nullish().meta({
    default: usualSample,
    description: 'How many of the newest calls of the view are looked at.',
  }),
})
export type ColumnsBody = z.output<typeof ColumnsBody>

const valueType = z.enum(['string', 'number', 'boolean', 'null', 'object', 'list'])
export type ValueType = z.output<typeof valueType>

export const FoundColumn = z.object({
  field: z.string().meta({ description: 'As queries, sorts and `columns` take it.' }),
  count: count.meta({ description: 'Calls of the sample that have it.' }),
  types: z.partialRecord(valueType, count),
})
export type FoundColumn = z.output<typeof FoundColumn>

export const ColumnsAnswer = answer('What the newest calls of a view carry, the most frequent first.', {
  columns: z.array(FoundColumn),
  sampled: count.meta({ description: 'Calls that were looked at.' }),
  others: count.meta({ description: `Paths beyond the first ${mostColumns}.` }),
  too_large: count.meta({
    description: 'Inputs, outputs and the like of more than 64 KiB; they were not opened.',
  }),
})
