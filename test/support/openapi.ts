import assert from 'node:assert/strict'
import type { TestApp } from './app.ts'

/** The part of JSON Schema that the contracts use. */
export interface Schema {
  description?: string
  type?: string | string[]
  properties?: Record<string, Schema>
  required?: string[]
  items?: Schema
  additionalProperties?: Schema | boolean
  anyOf?: Schema[]
  oneOf?: Schema[]
  enum?: unknown[]
  minimum?: number
  maximum?: number
  minLength?: number
  maxLength?: number
  maxItems?: number
  pattern?: string
  format?: string
  default?: unknown
}

export interface Parameter {
  name: string
  in: 'path' | 'query' | 'header'
  required?: boolean
  description?: string
  schema: Schema
}

export interface Operation {
  operationId?: string
  summary?: string
  tags?: string[]
  security?: object[]
  parameters?: Parameter[]
  requestBody?: { content: { 'application/json': { schema: Schema } } }
  responses: Record<string, { description: string; content?: Record<string, { schema: Schema }> }>
}

export interface Document {
  openapi: string
  security: object[]
  paths: Record<string, Record<string, Operation>>
}

export async function documentOf({ get }: Pick<TestApp, 'get'>): Promise<Document> {
  const answer = await get('/openapi.json')
  assert.equal(answer.status, 200)
  return answer.json
}

/** `/v2/:entity` as the document writes it. */
export function documentedPath(url: string): string {
  return url.replace(/:(\w+)/g, '{$1}')
}

/** The schema of the value if it is not null. */
export function withoutNull(given: Schema): { schema: Schema & { type?: string }; nullable: boolean } {
  const { type, anyOf, ...rest } = given
  const alternatives = anyOf ?? [type].flat().map((one) => ({ ...rest, ...(one && { type: one }) }))
  const others = alternatives.filter((alternative) => alternative.type !== 'null')
  const [first = { ...rest, type: 'null' }] = others
  const schema = others.length > 1 ? { anyOf: others } : first
  return { schema: schema as Schema & { type?: string }, nullable: others.length < alternatives.length }
}
