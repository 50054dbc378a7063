import { z } from 'zod'
import { explained } from '../../domain/fields.ts'

/**
 * Scalars as vLLM accepts them: a number also as its text, a flag also as 0, 1 or a word. Lists and objects must have
 * their own type.
 */

const numeric = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i

export function asNumber(value: unknown): unknown {
  if (typeof value !== 'string' || value.length > 100) return value
  const text = value.trim()
  return numeric.test(text) ? Number(text) : value
}

const yes = new Set(['true', 't', 'yes', 'y', 'on', '1'])
const no = new Set(['false', 'f', 'no', 'n', 'off', '0'])

function asFlag(value: unknown): unknown {
  if (value === 1 || value === 0) return value === 1
  if (typeof value !== 'string' || value.length > 5) return value
  const word = value.toLowerCase()
  return yes.has(word) || (no.has(word) ? false : value)
}

export const number = (schema: z.ZodNumber = z.number()) => z.preprocess(asNumber, schema)

/** Parses as a double: `5.0` is a whole number, `5.5` is not. */
export const integer = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  z.preprocess(asNumber, z.int().min(least).max(most))

export const flag = () => z.preprocess(asFlag, z.boolean())

/** A flag that is off when absent or null. */
export const optIn = () => flag().nullish().meta({ default: false })

/** What a stream reports besides its answer. */
export const streamOptions = () =>
  z
    .object(
      explained({
        include_usage: [optIn(), 'Adds a last chunk with the usage and no choices.'],
        continuous_usage_stats: [optIn(), 'Adds the usage so far to each chunk.'],
      }),
    )
    .nullish()

/** The effect of a field in the tables of the docs. `none`: only its type is checked. */
type Effect = 'honoured' | 'partly' | 'none' | 'refused'

export const documented = <Schema extends z.ZodType>(
  schema: Schema,
  description: string,
  { initial, effect = 'honoured' }: { initial?: unknown; effect?: Effect } = {},
) =>
  schema.meta({
    description,
    ...(initial !== undefined && { default: initial }),
    ...(effect !== 'honoured' && { 'x-effect': effect }),
  })

/** A flag that may be left out. */
export const switchField = (initial: boolean, description: string) =>
  documented(flag().optional(), description, { initial })
