import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { described } from '../domain/fields.ts'
import { type KeepPlan, parseKeeping, TooDeep } from '../domain/json-text.ts'
import { refuse, type SchemaIssue } from '../domain/refusals.ts'
import { keepPlanOf } from './keep-plan.ts'

/** Deep enough for any record, shallow enough that nothing that walks it runs out of stack. */
const deepestBody = 200

declare module 'fastify' {
  interface FastifyRequest {
    /** Bytes of the shared budget that this request holds. */
    heldBytes: number
  }
}

/** JSON in: bounded in size, depth and number at once; the places that a contract keeps as text arrive as text. */
export function acceptJson(app: FastifyInstance, budget: number): void {
  app.removeAllContentTypeParsers()
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body: Buffer, done) => {
    try {
      done(null, parseBody(request, body))
    } catch (error) {
      done(error as Error)
    }
  })

  let held = 0
  app.decorateRequest('heldBytes', 0)
  app.addHook('preParsing', async (request, _reply, payload) => {
    if (
      request.raw.headers['content-length'] === undefined &&
      request.raw.headers['transfer-encoding'] === undefined
    )
      return payload
    // A body that does not say its length may become as long as the limit.
    const bytes = Number(request.headers['content-length'] ?? request.routeOptions.bodyLimit)
    if (held + bytes > budget && held > 0) throw refuse('queue_full')
    held += bytes
    request.heldBytes = bytes
    return payload
  })
  app.addHook('onResponse', async (request) => {
    held -= request.heldBytes
    request.heldBytes = 0
  })
}

function parseBody(request: FastifyRequest, body: Buffer): unknown {
  if (body.length === 0) throw refuse('malformed_json', { why: 'it is empty' })
  if (!isUtf8(body)) throw refuse('malformed_json', { why: 'it is not UTF-8' })
  const schema = request.routeOptions.schema?.body as z.ZodType | undefined
  const plan: KeepPlan = schema ? keepPlanOf(schema) : {}
  try {
    return parseKeeping(body.toString('utf8'), plan, deepestBody)
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
    return (data: unknown) => {
      const result = contract.safeParse(data, { reportInput: true })
      if (result.success) return { value: result.data }
      return {
        error: schemaRefusal(result.error.issues, httpPart === 'params' ? 'path' : (httpPart ?? 'body')),
      }
    }
  })
}

function schemaRefusal(issues: readonly z.core.$ZodIssue[], part: string) {
  const detail = issues.flatMap((issue) => placesOf(issue, [part])).slice(0, 100)
  const first = detail[0] as SchemaIssue
  const place = first.loc.slice(part === 'body' ? 1 : 0).join('.') || 'the body'
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
  return message.includes('received') ? message : `${message}, received ${described(issue.input)}`
}
