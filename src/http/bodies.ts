import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest, FastifySchemaCompiler } from 'fastify'
import { z } from 'zod'
import { createBreathing } from '../domain/breathing.ts'
import { described } from '../domain/fields.ts'
import { type KeepPlan, parseKeeping, parseKeepingInSteps, TooDeep } from '../domain/json-text.ts'
import { refuse, type SchemaIssue } from '../domain/refusals.ts'
import { keepPlanOf } from './keep-plan.ts'

/** Deep enough for any record, shallow enough that nothing that walks it runs out of stack. */
const deepestBody = 200

/** JSON in: bounded in size, depth and number at once; the places that a contract keeps as text arrive as text. */
export function acceptJson(app: FastifyInstance, budget: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, parseBody)

  let held = 0
  app.addHook('preParsing', async (request, reply, payload) => {
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers
    if (length === undefined && encoding === undefined) return payload
    // A body that does not say its length may become as long as the limit.
    const bytes = Number(length ?? request.routeOptions.bodyLimit)
    if (held + bytes > budget && held > 0) throw refuse('queue_full')
    held += bytes
    // Unlike the hook onResponse, this comes also when the client leaves in the middle.
    reply.raw.once('close', () => {
      held -= bytes
    })
    return payload
  })
}

/** From here on a body is worked through in steps. */
const largeBody = 128 * 1024

async function parseBody(request: FastifyRequest, body: Buffer): Promise<unknown> {
  if (body.length === 0) throw refuse('malformed_json', { why: 'it is empty' })
  if (!isUtf8(body)) throw refuse('malformed_json', { why: 'it is not UTF-8' })
  const schema = request.routeOptions.schema?.body as z.ZodType | undefined
  const plan: KeepPlan = schema ? keepPlanOf(schema) : {}
  const text = body.toString('utf8')
  try {
    if (body.length < largeBody) return parseKeeping(text, plan, deepestBody)
    return await parseKeepingInSteps(text, plan, deepestBody, createBreathing())
  } catch (error) {
    if (error instanceof TooDeep) throw refuse('body_too_deep', { limit: deepestBody })
    if (error instanceof SyntaxError) throw refuse('malformed_json', { why: error.message })
    throw error
  }
}

/** Bodies, paths and queries are checked against their contract; the refusal names every place. */
export function checkAgainstContracts(app: FastifyInstance): void {
  app.setValidatorCompiler(({ schema, httpPart }) => {
    const contract = schema as z.ZodType
    const part = httpPart === 'params' ? 'path' : (httpPart ?? 'body')
    const check = (data: unknown) => {
      const result = contract.safeParse(data, { reportInput: true })
      return result.success ? { value: result.data } : { error: schemaRefusal(result.error.issues, [part]) }
    }
    const items = batchItemOf(contract)
    if (items === undefined) return check
    return (data: unknown) => (isLongBatch(data) ? (allItemsFit(data, items) as Verdict) : check(data))
  })
}

type Verdict = ReturnType<ReturnType<FastifySchemaCompiler<unknown>>>

/** Beyond this many items a batch is checked in steps. */
const longBatch = 100

interface Batch {
  batch: unknown[]
}

function isLongBatch(data: unknown): data is Batch {
  return (
    typeof data === 'object' &&
    data !== null &&
    'batch' in data &&
    Array.isArray(data.batch) &&
    data.batch.length > longBatch
  )
}

/** What the items of a contract are that is nothing but `{batch: [item]}`. */
function batchItemOf(contract: z.ZodType): z.ZodType | undefined {
  if (!(contract instanceof z.ZodObject)) return undefined
  const { batch, ...others } = contract.shape as Record<string, z.ZodType>
  return batch instanceof z.ZodArray && Object.keys(others).length === 0
    ? (batch.element as z.ZodType)
    : undefined
}

/** Fastify takes a promise as yes or no, so the items are replaced where they stand. */
async function allItemsFit(data: Batch, items: z.ZodType): Promise<boolean> {
  const breathe = createBreathing()
  for (const [index, item] of data.batch.entries()) {
    const result = items.safeParse(item, { reportInput: true })
    if (!result.success) throw schemaRefusal(result.error.issues, ['body', 'batch', index])
    data.batch[index] = result.data
    const pause = breathe()
    if (pause) await pause
  }
  return true
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
  return [{ loc, msg: messageOf(issue), type: issue.code }]
}

function messageOf(issue: z.core.$ZodIssue): string {
  const message = issue.message
    .replace(/^Invalid input: /, '')
    .replace(/^(Too big|Too small|Invalid option): /, '')
    .replace(/^Invalid discriminator value\. Expected/, 'expected')
  return message.includes('received') ? message : `${message}, received ${described(givenOf(issue))}`
}

/** The input of a union is its whole object, also when the place is the member that decides. */
function givenOf(issue: z.core.$ZodIssue): unknown {
  if (issue.code !== 'invalid_union' || issue.discriminator === undefined) return issue.input
  return (issue.input as Record<string, unknown>)[issue.discriminator]
}
