import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { z } from 'zod'
import { anyShape, maxUnknown, type Shape } from '../../domain/json/read.ts'
import { JsonText } from '../../domain/json/text.ts'
import { nearestName } from '../../domain/nearest.ts'
import type { Refusal } from '../../domain/refusals.ts'
import { shapeOf } from '../body-shapes.ts'
import { wireOf } from '../errors.ts'
import { CheckedBody, formOf, refusalOf } from '../validation.ts'
import { headerOf } from './header-list.ts'

/** A member of a request that its contract does not have. */
export type UnknownField = readonly (string | number)[]

/** Names in the header and in a refusal are cut off here. */
export const maxName = 64

export const ignoredHeader = 'x-heddle-ignored-fields'

/** Of the query of an operation that has none. */
const noParameters = z.object({})

/**
 * What clients add to each query, and what changes nothing here: SDKs of Anthropic `beta=true`, those of Azure a version
 * of the API.
 */
const isMark = ([name]: UnknownField, request: FastifyRequest) =>
  (name === 'beta' && wireOf(request) === 'anthropic') ||
  (name === 'api-version' && wireOf(request) !== 'record')

declare module 'fastify' {
  interface FastifyInstance {
    /** What would be named as ignored is refused. */
    refusesIgnored: boolean
  }
}

/**
 * Fields that the contract of a route does not have, in its body or its query, are named in a header of the answer, or
 * refused. OpenTelemetry demands that they are ignored, so its routes, which also take protobuf, never refuse them.
 */
export function nameUnknownFields(app: FastifyInstance, isRefused: boolean): void {
  app.decorate('refusesIgnored', isRefused)
  app.addHook('preValidation', (request, reply, done) => {
    const { schema } = request.routeOptions
    const { body, consumes } = schema ?? {}
    const querystring = schema?.querystring ?? (schema && !schema.hide ? noParameters : undefined)
    const ofBody =
      request.body instanceof CheckedBody ? request.body.unknown : unknownFields(body, request.body)
    const ofQuery = unknownFields(querystring, request.query).filter((path) => !isMark(path, request))
    if (ofBody.length + ofQuery.length === 0) return done()
    if (isRefused && consumes === undefined) {
      return done(
        ofBody.length > 0 ? refusalFor('body', ofBody, body) : refusalFor('query', ofQuery, querystring),
      )
    }
    nameInHeader(
      reply,
      [...ofBody, ...ofQuery].map((path) => cutShort(path).join('.')),
    )
    done()
  })
}

/** Names fields of the body that are known and have no effect on this answer, or refuses them. */
export function addIgnored(reply: FastifyReply, names: readonly string[]): void {
  if (names.length === 0) return
  if (!reply.server.refusesIgnored) {
    nameInHeader(reply, names)
    return
  }
  const msg = 'has no effect here, expected nothing'
  throw refusalOf(
    names
      .slice(0, maxUnknown)
      .map((name) => ({ loc: ['body', ...name.split('.')], msg, type: 'unrecognized_keys' })),
  )
}

/** Beside the names that it has already. */
function nameInHeader(reply: FastifyReply, names: readonly string[]): void {
  const rest = names.length > maxUnknown ? 'and more' : undefined
  const named = [reply.getHeader(ignoredHeader), headerOf(names.slice(0, maxUnknown)), rest]
  reply.header(ignoredHeader, named.filter((text) => text !== undefined).join(', '))
}

/** The first of them, at least one more than are named, in the order of the data. */
export function unknownFields(contract: unknown, data: unknown): UnknownField[] {
  const found: UnknownField[] = []
  if (contract !== undefined) search(data, shapeOf(formOf(contract as z.ZodType, data)), [], found)
  return found
}

function search(data: unknown, shape: Shape, path: (string | number)[], found: UnknownField[]): void {
  if (typeof data !== 'object' || data === null || data instanceof JsonText) return
  if (shape === anyShape || shape.opaque || (shape.others === anyShape && !shape.fields)) return
  const isList = Array.isArray(data)
  for (const [step, value] of isList ? data.entries() : Object.entries(data)) {
    if (found.length > maxUnknown) return
    const member = isList ? shape.items : (shape.fields?.get(step as string) ?? shape.others)
    path.push(step)
    if (member !== undefined) search(value, member, path, found)
    else if (!isList && shape.fields) found.push([...path])
    path.pop()
  }
}

const cutShort = (path: UnknownField) =>
  path.map((step) => (typeof step === 'string' ? step.slice(0, maxName) : step))

export function refusalFor(origin: string, unknown: readonly UnknownField[], contract: unknown): Refusal {
  const shape = shapeOf(contract as z.ZodType)
  return refusalOf(
    unknown.slice(0, maxUnknown).map((path) => {
      const names = cutShort(path)
      const meant = nearestName(String(names.at(-1)), namesBeside(path, shape))
      const msg = meant === undefined ? 'unknown field' : `unknown field, perhaps ${meant}`
      return { loc: [origin, ...names], msg, type: 'unrecognized_keys' }
    }),
  )
}

function namesBeside(path: UnknownField, shape: Shape): string[] {
  const inner = (outer: Shape | undefined, step: string | number) =>
    typeof step === 'number' ? outer?.items : (outer?.fields?.get(step) ?? outer?.others)
  return [...(path.slice(0, -1).reduce<Shape | undefined>(inner, shape)?.fields?.keys() ?? [])]
}
