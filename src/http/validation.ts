import type { FastifySchemaCompiler } from 'fastify'
import { z } from 'zod'
import { described } from '../domain/described.ts'
import { spelledPath, traits } from '../domain/fields.ts'
import { digitsAt } from '../domain/json/digits.ts'
import { JsonText } from '../domain/json/text.ts'
import { Refusal, refuse, type SchemaIssue } from '../domain/refusals.ts'

/** The parts of a request by the names that users know, and that FastAPI clients expect. */
const nameOf: Readonly<Record<string, string>> = { params: 'path', querystring: 'query', headers: 'header' }

/** Validates bodies, paths and queries against their contract; the refusal names every path. */
export const checkAgainstContract: FastifySchemaCompiler<unknown> = ({ schema, httpPart }) => {
  const section = nameOf[httpPart ?? 'body'] ?? 'body'
  return (data: unknown) => {
    if (data instanceof CheckedBody) return data.result
    try {
      return { value: parseOrRefuse(schema as z.ZodType, data, section) }
    } catch (error) {
      if (error instanceof Refusal) return { error }
      throw error
    }
  }
}

/** A body that was already validated where it was read. */
export class CheckedBody {
  readonly result: { value: unknown } | { error: Refusal }
  /** The paths of members that the contract does not have. */
  readonly unknown: readonly (readonly (string | number)[])[]

  constructor(result: CheckedBody['result'], unknown: CheckedBody['unknown'] = []) {
    this.result = result
    this.unknown = unknown
  }
}

/** The data as the contract parses it. Throws a refusal if the data does not fit. */
export function parseOrRefuse(schema: z.ZodType, data: unknown, section: string): unknown {
  const contract = formOf(schema, data)
  return fittedMembers(contract, data) ?? fittedWhole(contract, data, section)
}

/** The contract that the data has to fit. */
export function formOf(schema: z.ZodType, data: unknown): z.ZodType {
  // Loaded by now (later-routes.ts).
  const contract = schema instanceof z.ZodLazy ? (schema.unwrap() as z.ZodType) : schema
  const { optionOf } = traits.get(contract) ?? {}
  const isChosen = optionOf && contract instanceof z.ZodUnion && typeof data === 'object' && data !== null
  return isChosen ? (contract.options[optionOf(data)] as z.ZodType) : contract
}

/**
 * A body has few of the members that its contract knows, and checking each missing one takes longer than those.
 * Undefined if this shortcut does not apply or something is wrong, which is then left to the contract as a whole.
 */
function fittedMembers(contract: z.ZodType, data: unknown): object | undefined {
  const members = membersOf(contract)
  if (members === undefined || typeof data !== 'object' || data === null || Array.isArray(data))
    return undefined
  const { names, required, shape } = members
  const record = data as Record<string, unknown>
  if (required.some((name) => record[name] === undefined)) return undefined
  const value: Record<string, unknown> = {}
  for (const name of names) {
    const member = record[name]
    if (member === undefined) continue
    const result = (shape[name] as z.ZodType).safeParse(member, yesOrNo)
    if (!result.success) return undefined
    value[name] = result.data
  }
  return value
}

/** The first error is enough. */
const yesOrNo = { reportInput: false, abortEarly: true }

interface Members {
  names: readonly string[]
  required: readonly string[]
  shape: Readonly<Record<string, z.ZodType>>
}

const known = new WeakMap<z.ZodType, Members | 'whole'>()

/** Undefined for a contract with rules about several members together, or with defaults for missing ones. */
function membersOf(contract: z.ZodType): Members | undefined {
  let found = known.get(contract)
  if (found === undefined) {
    found = 'whole'
    if (
      contract instanceof z.ZodObject &&
      contract.def.catchall === undefined &&
      !contract.def.checks?.length
    ) {
      const shape = contract.shape as Record<string, z.ZodType>
      const names = Object.keys(shape)
      const ofNothing = names.map((name) => ({ name, made: (shape[name] as z.ZodType).safeParse(undefined) }))
      if (ofNothing.every(({ made }) => !made.success || made.data === undefined)) {
        const required = ofNothing.filter(({ made }) => !made.success).map(({ name }) => name)
        found = { names, required, shape }
      }
    }
    known.set(contract, found)
  }
  return found === 'whole' ? undefined : found
}

function fittedWhole(contract: z.ZodType, data: unknown, section: string): unknown {
  const result = contract.safeParse(data, zodOptionsFor(data))
  if (result.success) return result.data
  throw schemaRefusal(result.error.issues, section, data)
}

/** If a body has more values than this, only the first path that is wrong is named, because all of them may be. */
const maxValues = 2_000

/**
 * `abortEarly` is what zod itself sets for a yes or no answer: checking stops at the first wrong item of a list or
 * member of an object.
 */
function zodOptionsFor(data: unknown) {
  return { reportInput: true, abortEarly: hasMoreValues(data, maxValues) }
}

function hasMoreValues(data: unknown, most: number): boolean {
  const waiting = [data]
  let left = most
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null || value instanceof JsonText) continue
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
    left -= inner.length
    if (left < 0) return true
    for (const item of inner) waiting.push(item)
  }
  return false
}

function schemaRefusal(issues: readonly z.core.$ZodIssue[], section: string, data: unknown) {
  const reported = withoutLengths(issues).filter(
    (issue, index, all) => !isReportedDeeper(issue, all.slice(index + 1)),
  )
  const detail = reported.flatMap((issue) => placesOf(issue, [section], data)).slice(0, 100)
  return refusalOf(detail)
}

/** Names the first of the paths that are wrong, and has all of them. */
export function refusalOf(detail: readonly SchemaIssue[]): Refusal {
  const [{ loc, msg }] = detail as readonly [SchemaIssue]
  const origin = String(loc[0])
  const field = loc.slice(origin === 'body' ? 1 : 0).join('.')
  const what = `${field || 'the body'}: ${msg}`
  return refuse('invalid_request', { origin, what, ...(field && { field }) }, detail)
}

/** That a whole number has to fit a double need not be reported if a narrower bound is reported as well. */
function isReportedDeeper(issue: z.core.$ZodIssue, others: readonly z.core.$ZodIssue[]): boolean {
  if (!('note' in issue)) return false
  return others.some(({ code, path }) => code === issue.code && path.join('.') === issue.path.join('.'))
}

/** zod also checks the length of a list that is given in place of a text: the wrong type is reported alone. */
function withoutLengths(issues: readonly z.core.$ZodIssue[]): z.core.$ZodIssue[] {
  const mistyped = new Set<string>()
  return issues.filter((issue) => {
    const path = JSON.stringify(issue.path.map(String))
    const isNew = !mistyped.has(path)
    if (issue.code === 'invalid_type') mistyped.add(path)
    return isNew
  })
}

function placesOf(issue: z.core.$ZodIssue, base: (string | number)[], data: unknown): SchemaIssue[] {
  const path = [...base, ...issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))]
  const [section = '', ...steps] = path
  const spelled = spelledPath(data, steps)
  const loc = [section, ...spelled]
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ loc: [...loc, key], msg: 'unknown field', type: issue.code }))
  if (issue.code === 'invalid_union') {
    const meant = closestAlternative(issue.errors)
    if (meant !== undefined) return meant.flatMap((inner) => placesOf(inner, path, data))
  }
  // The input of a rule about several members is all of them, that of a rule about a key is the key, and NaN is what
  // becomes of the text in a query.
  const isMade = typeof issue.input === 'object' || Number.isNaN(issue.input)
  const sent = isMade ? valueAt(data, steps) : issue.input
  return [{ loc, msg: messageOf(issue, sent, digitsAt(data, spelled)), type: issue.code }]
}

function valueAt(data: unknown, path: readonly (string | number)[]): unknown {
  return path.reduce<unknown>(
    (value, key) => (value as Record<string | number, unknown> | undefined)?.[key],
    data,
  )
}

/** Of several alternatives, the one that fits the deepest, if one does. */
function closestAlternative(alternatives: readonly z.core.$ZodIssue[][]): z.core.$ZodIssue[] | undefined {
  const depths = alternatives.map(depthOf)
  const deepest = Math.max(...depths)
  const meant = alternatives.filter((_, index) => depths[index] === deepest)
  return deepest > 0 && meant.length === 1 ? meant[0] : undefined
}

/** How deep the data fits before the first path that does not, even if that path has alternatives of its own. */
function depthOf(issues: readonly z.core.$ZodIssue[]): number {
  const depths = issues.map((issue) => {
    const inner = issue.code === 'invalid_union' ? issue.errors.map(depthOf) : []
    return issue.path.length + Math.max(0, ...inner)
  })
  return Math.min(...depths)
}

/** `digits`: a number as it was written. */
function messageOf(issue: z.core.$ZodIssue, sent: unknown, digits: string | undefined): string {
  const message = issue.message
    .replace(/^Invalid input: /, '')
    .replace(/^(Too big|Too small|Invalid option): /, '')
    .replace(/^Invalid discriminator value\. Expected/, 'expected')
    .replace(/, received (undefined|NaN|JsonText)$/, '')
  if (digits !== undefined) return `${message.replace(/, received \S+$/, '')}, received ${digits}`
  if (isWrongScalar(issue)) return message.replace(/, received \S+$/, `, received ${described(issue.input)}`)
  return message.includes('received') ? message : `${message}, received ${described(sent)}`
}

/** If numbers and flags may also be given as text, the type says little about what was given. */
function isWrongScalar(issue: z.core.$ZodIssue): boolean {
  if (issue.code !== 'invalid_type' || !['number', 'int', 'boolean'].includes(issue.expected)) return false
  const { input } = issue
  return typeof input === 'number' ? Number.isFinite(input) : ['string', 'boolean'].includes(typeof input)
}
