import type { FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { z } from 'zod'
import { described } from '../domain/described.ts'
import { traits } from '../domain/fields.ts'
import { JsonText } from '../domain/json/text.ts'
import { refuse, type SchemaIssue } from '../domain/refusals.ts'
import { createYieldToLoop } from '../domain/yielding.ts'

/** Bodies, paths and queries are checked against their contract; the refusal names every place. */
export const checkAgainstContract: FastifySchemaCompiler<unknown> = ({ schema, httpPart }) => {
  const contract = schema as z.ZodType
  const part = httpPart === 'params' ? 'path' : (httpPart ?? 'body')
  const check = (data: unknown) => {
    // A route that takes bytes looks into them itself.
    if (data instanceof Uint8Array) return { value: data }
    const result = contract.safeParse(data, howToCheck(data))
    return result.success ? { value: result.data } : { error: schemaRefusal(result.error.issues, [part]) }
  }
  const long = longListIn(contract)
  if (long === undefined) return check
  return (data: unknown) => {
    const list = listAt(data, long.path)
    if (list === undefined || list.length <= longList) return check(data)
    return fitInSteps(contract, data as Members, list, long) as Verdict
  }
}

/** Of a body with more values than this, only the first place that is wrong is named: all of them may be. */
const mostValues = 2_000

/**
 * `abortEarly` is what zod itself sets where only yes or no is asked: the check ends with the first wrong item of a list, or
 * member of an object.
 */
function howToCheck(data: unknown) {
  return { reportInput: true, abortEarly: hasMoreValues(data, mostValues) }
}

function hasMoreValues(data: unknown, most: number): boolean {
  const waiting = [data]
  let left = most
  for (let value = waiting.pop(); value !== undefined; value = waiting.pop()) {
    if (typeof value !== 'object' || value === null || value instanceof JsonText) continue
    const inner: unknown[] = Array.isArray(value) ? value : Object.values(value)
    left -= inner.length
    if (left < 0) return true
    for (const one of inner) waiting.push(one)
  }
  return false
}

type Verdict = ReturnType<ReturnType<FastifySchemaCompiler<unknown>>>
type Members = Record<string, unknown>

/** Beyond this many items a list is checked in steps. */
const longList = 100

interface LongList {
  path: readonly string[]
  items: z.ZodType
}

/** The list that makes up the bulk of a body: the one that the contract marks. */
function longListIn(contract: z.ZodType): LongList | undefined {
  if (!(contract instanceof z.ZodObject)) return undefined
  for (const [name, member] of Object.entries(contract.shape as Record<string, z.ZodType>)) {
    if (member instanceof z.ZodArray && traits.get(member)?.isLong) {
      return { path: [name], items: member.element as z.ZodType }
    }
    const inner = longListIn(member)
    if (inner !== undefined) return { path: [name, ...inner.path], items: inner.items }
  }
  return undefined
}

function listAt(data: unknown, path: readonly string[]): unknown[] | undefined {
  let value = data
  for (const name of path) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined
    value = (value as Members)[name]
  }
  return Array.isArray(value) ? value : undefined
}

/** Fastify takes a promise as yes or no, so what was checked is put where the body stands. */
async function fitInSteps(
  contract: z.ZodType,
  data: Members,
  list: unknown[],
  { path, items }: LongList,
): Promise<boolean> {
  const yieldToLoop = createYieldToLoop()
  for (const [index, item] of list.entries()) {
    const result = items.safeParse(item, howToCheck(item))
    if (!result.success) throw schemaRefusal(result.error.issues, ['body', ...path, index])
    list[index] = result.data
    const pause = yieldToLoop()
    if (pause) await pause
  }
  put(data, path, [])
  const rest = contract.safeParse(data, howToCheck(data))
  if (!rest.success) throw schemaRefusal(rest.error.issues, ['body'])
  Object.assign(data, rest.data)
  put(data, path, list)
  return true
}

function put(data: Members, path: readonly string[], list: unknown[]): void {
  let holder = data
  for (const name of path.slice(0, -1)) holder = holder[name] as Members
  holder[path.at(-1) as string] = list
}

function schemaRefusal(issues: readonly z.core.$ZodIssue[], base: (string | number)[]) {
  const detail = issues.flatMap((issue) => placesOf(issue, base)).slice(0, 100)
  const first = detail[0] as SchemaIssue
  const place = first.loc.slice(base[0] === 'body' ? 1 : 0).join('.') || 'the body'
  return refuse('invalid_request', { what: `${place}: ${first.msg}`, field: place }, detail)
}

function placesOf(issue: z.core.$ZodIssue, base: (string | number)[]): SchemaIssue[] {
  const loc = [...base, ...issue.path.map((key) => (typeof key === 'symbol' ? String(key) : key))]
  if (issue.code === 'unrecognized_keys')
    return issue.keys.map((key) => ({ loc: [...loc, key], msg: 'unknown field', type: issue.code }))
  if (issue.code === 'invalid_union') {
    const meant = alternativeMeant(issue.errors)
    if (meant !== undefined) return meant.flatMap((inner) => placesOf(inner, loc))
  }
  return [{ loc, msg: messageOf(issue), type: issue.code }]
}

/** Of several alternatives the one that fits the deepest, when one does. */
function alternativeMeant(alternatives: readonly z.core.$ZodIssue[][]): z.core.$ZodIssue[] | undefined {
  const depths = alternatives.map((issues) => Math.min(...issues.map(({ path }) => path.length)))
  const deepest = Math.max(...depths)
  const meant = alternatives.filter((_, index) => depths[index] === deepest)
  return deepest > 1 && meant.length === 1 ? meant[0] : undefined
}

function messageOf(issue: z.core.$ZodIssue): string {
  const message = issue.message
    .replace(/^Invalid input: /, '')
    .replace(/^(Too big|Too small|Invalid option): /, '')
    .replace(/^Invalid discriminator value\. Expected/, 'expected')
  if (isWrongScalar(issue)) return message.replace(/, received \S+$/, `, received ${described(issue.input)}`)
  return message.includes('received') ? message : `${message}, received ${described(givenOf(issue))}`
}

/** Where numbers and flags may also come as text, its type says little about what was given. */
function isWrongScalar(issue: z.core.$ZodIssue): boolean {
  if (issue.code !== 'invalid_type' || !['number', 'int', 'boolean'].includes(issue.expected)) return false
  const { input } = issue
  return typeof input === 'number' ? Number.isFinite(input) : ['string', 'boolean'].includes(typeof input)
}

/** The input of a union is its whole object, also when the place is the member that decides. */
function givenOf(issue: z.core.$ZodIssue): unknown {
  if (issue.code !== 'invalid_union' || issue.discriminator === undefined) return issue.input
  return (issue.input as Record<string, unknown>)[issue.discriminator]
}

/** Fields beyond the contract are ignored, and named in the log at level debug. */
export function noteUnknownFields(contract: z.ZodObject): (request: FastifyRequest) => Promise<void> {
  const known = new Set(Object.keys(contract.shape))
  return async ({ body, log }) => {
    if (typeof body !== 'object' || body === null || Array.isArray(body)) return
    const fields = Object.keys(body).filter((name) => !known.has(name))
    if (fields.length > 0) log.debug({ fields: fields.slice(0, 20) }, 'fields that are ignored')
  }
}
