import { z } from 'zod'

/**
 * Scalars as vLLM takes them: a number also as its text, a flag also as 0, 1 or a word. Lists and objects must be what
 * they are.
 */

const numeric = /^[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d{1,3})?$/i

function asNumber(given: unknown): unknown {
  if (typeof given !== 'string' || given.length > 100) return given
  const text = given.trim()
  return numeric.test(text) ? Number(text) : given
}

const flags: Record<string, boolean> = {
  true: true,
  t: true,
  yes: true,
  y: true,
  on: true,
  '1': true,
  false: false,
  f: false,
  no: false,
  n: false,
  off: false,
  '0': false,
}

function asFlag(given: unknown): unknown {
  if (given === 1 || given === 0) return given === 1
  if (typeof given !== 'string' || given.length > 5) return given
  const word = given.toLowerCase()
  return Object.hasOwn(flags, word) ? flags[word] : given
}

export const number = (schema: z.ZodNumber = z.number()) => z.preprocess(asNumber, schema)

/** A double: `5.0` is a whole number, `5.5` is none. */
export const integer = (least: number, most = Number.MAX_SAFE_INTEGER) =>
  z.preprocess(asNumber, z.int().min(least).max(most))

export const flag = () => z.preprocess(asFlag, z.boolean())
