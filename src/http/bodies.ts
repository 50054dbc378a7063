import { isUtf8 } from 'node:buffer'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { z } from 'zod'
import { parseKeeping } from '../domain/json/keep.ts'
import { DepthError } from '../domain/json/scan.ts'
import { parseByShape } from '../domain/json/shape.ts'
import { refuse } from '../domain/refusals.ts'
import { createYieldToLoop } from '../domain/yielding.ts'
import { limitBodies } from './body-budget.ts'
import { type LargeBodies, queueLargeBodies } from './body-limits.ts'
import { keepPlanOf, shapeOf } from './body-shapes.ts'
import { encodingOf, uncompressed } from './compression.ts'

/** Deep enough for any record, shallow enough that nothing that walks it runs out of stack. */
const deepestBody = 200

/** Takes JSON, bounded in size, depth and number at once. What a contract keeps as text arrives as text. */
export function acceptJson(app: FastifyInstance, budget: number): void {
  app.removeAllContentTypeParsers()
  const large = queueLargeBodies(app)
  limitBodies(app, budget, large.leave)
  app.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    async (request: FastifyRequest, sent: Buffer) =>
      parseBody(request, encodingOf(request) ? await uncompressed(request, sent) : sent, large),
  )
}

/** A body of this length is parsed in steps. */
const largeBody = 128 * 1024

async function parseBody(request: FastifyRequest, body: Buffer, large: LargeBodies): Promise<unknown> {
  if (body.length === 0) throw refuse('malformed_json', { why: 'it is empty' })
  if (!isUtf8(body)) throw refuse('malformed_json', { why: 'it is not UTF-8' })
  const schema = request.routeOptions.schema?.body as z.ZodType | undefined
  try {
    if (body.length < largeBody)
      return parseKeeping(body.toString('utf8'), schema ? keepPlanOf(schema) : {}, deepestBody)
    await large.enter(request)
    return await parseByShape(
      body.toString('utf8'),
      schema ? shapeOf(schema) : {},
      deepestBody,
      createYieldToLoop(),
    )
  } catch (error) {
    if (error instanceof DepthError) throw refuse('body_too_deep', { limit: deepestBody })
    if (error instanceof SyntaxError) throw refuse('malformed_json', { why: error.message })
    throw error
  }
}
