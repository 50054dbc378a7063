import { z } from 'zod'
import { dateTime, plainText } from '../../domain/fields.ts'
import { query } from '../paging-contract.ts'

/** Values in the attributes of spans, by their types. */
export const attributeSources = {
  string: 'custom_attrs_string',
  int: 'custom_attrs_int',
  float: 'custom_attrs_float',
  bool: 'custom_attrs_bool',
} as const
export type AttributeType = keyof typeof attributeSources

const attributes = Object.values(attributeSources)
const fields = ['field', 'column'] as const
const key = plainText(1024).min(1)

/** A name of what is answered. */
export const columnName = plainText(128).refine((name) => /^[a-zA-Z_]\w*$/.test(name), {
  error: 'expected a name of letters, digits and _',
})

/** What groups are made by. */
export const groupRef = z.strictObject({
  source: z
    .enum([...fields, ...attributes])
    .nullish()
    .meta({
      default: 'field',
      description: 'A field of spans, or a path inside the attributes of calls.',
    }),
  key,
  alias: columnName.nullish().describe('The name in the answer; default: key.'),
})

/** What figures are made of. */
export const valueRef = z.strictObject({
  source: z
    .enum([...fields, 'derived', ...attributes])
    .nullish()
    .meta({ default: 'field', description: 'As of groups; derived is another name of field.' }),
  key,
})

/** A value of the attributes of one type. */
export const attributeRef = z.strictObject({ source: z.enum(attributes), key })

/** Whether a value is read from the attributes even where a field of spans has its name. */
export const spanValueOf = ({ key, source }: { key: string; source?: string | null | undefined }) => ({
  ...{ field: key, isAttribute: source?.startsWith('custom_attrs_') === true },
})

const numeric = ['sum', 'avg', 'min', 'max', 'count', 'count_distinct', 'count_true', 'count_false'] as const
export type SpanAggregation = (typeof numeric)[number]
export const aggregationName = z.enum(numeric)

/** Which figures there are of each type of values. */
const figuresOfType = {
  number: ['sum', 'avg', 'min', 'max', 'count', 'count_distinct'],
  boolean: ['count', 'count_distinct', 'count_true', 'count_false'],
  string: ['count', 'count_distinct'],
  datetime: ['min', 'max', 'count', 'count_distinct'],
} as const satisfies Record<string, readonly SpanAggregation[]>
type ValueType = keyof typeof figuresOfType
const valueTypes = Object.keys(figuresOfType) as ValueType[]

/** Refuses figures that do not fit their type. */
const fits = (type: ValueType, aggregation: SpanAggregation): boolean =>
  figuresOfType[type].some((name) => name === aggregation)

export const Measure = z
  .strictObject({
    alias: columnName,
    aggregation: aggregationName,
    value: valueRef.nullish().describe('Only count may be without one: it counts spans.'),
    value_type: z.enum(valueTypes).nullish(),
    filter: query.describe('Only spans for which it holds.'),
  })
  .refine(({ aggregation, value }) => value != null || aggregation === 'count', {
    path: ['value'],
    error: 'expected a value, which only count may be without',
  })
  .refine(({ aggregation, value_type }) => value_type == null || fits(value_type, aggregation), {
    path: ['aggregation'],
    error: 'expected one that value_type has',
  })
export type Measure = z.output<typeof Measure>

const bound = z.union([z.number(), dateTime]).nullish()

export const GroupFilter = z
  .strictObject({
    group_by: z.array(groupRef).max(5).nullish().describe('None, or that of the request.'),
    measure: Measure,
    min: bound.describe('Included; a number, or a date-time.'),
    max: bound.describe('Included.'),
  })
  .refine(({ min, max }) => min != null || max != null, {
    path: ['min'],
    error: 'expected min, max or both',
  })
export type GroupFilter = z.output<typeof GroupFilter>

export const SignalFilters = z
  .strictObject({
    tags: z
      .array(plainText(256).min(1))
      .max(20)
      .nullish()
      .describe('Each was given to the conversation, or to a call of it.'),
    ratings: z
      .array(
        z.strictObject({
          scorer_key: plainText(256).min(1).describe('The name of a rating.'),
          op: z.enum(['gte', 'gt', 'lte', 'lt', 'eq']),
          value: z.number(),
        }),
      )
      .max(20)
      .nullish()
      .describe('For each there is such a rating.'),
  })
  .nullish()
export type SignalFilters = NonNullable<z.output<typeof SignalFilters>>
