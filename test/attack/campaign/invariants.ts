import assert from 'node:assert/strict'
import { isUtf8 } from 'node:buffer'
import { Ajv2020, type ValidateFunction } from 'ajv/dist/2020.js'
import { refusals } from '../../../src/domain/refusals.ts'
import { apiOf } from '../../../src/http/errors.ts'
import { messageStreamOf } from '../../support/messages.ts'
import type { Target } from './requests.ts'

export interface Given {
  status: number
  type: string
  id: unknown
  text: string
}

const ajv = new Ajv2020({ strict: false, validateFormats: false, allErrors: false })
const validators = new WeakMap<object, ValidateFunction>()

function fits(schema: object, value: unknown): string | undefined {
  const validate = validators.get(schema) ?? ajv.compile(schema)
  validators.set(schema, validate)
  return validate(value) ? undefined : ajv.errorsText(validate.errors)
}

/** Checks what holds for every answer, whatever was sent. Returns the content, for callers that continue with it. */
export function assertAnswers(
  target: Target,
  { status, type, id, text }: Given,
  sent: Buffer | undefined,
): unknown[] {
  const shortly = `${status} ${text.slice(0, 500)}`
  assert.ok(status >= 200 && status < 500, `a fault: ${shortly}`)
  assert.match(String(id), /\S/, 'an answer has an x-request-id')
  const { responses } = target.operation
  if (status !== 200) return [assertRefuses(target, status, type, text)]
  const taken = sent === undefined || target.operation.requestBody?.content['application/json'] === undefined
  if (!taken) assert.ok(isJson(sent), `what is no JSON was taken: ${shortly}`)
  const { content } = responses['200'] ?? {}
  const media = type.split(';', 1)[0] as string
  const schema = content?.[media]?.schema
  if (content) assert.ok(schema, `${media} is not documented`)
  const values = valuesIn(target.path, media, text)
  if (schema) for (const value of values) assert.equal(fits(schema, value), undefined, shortly)
  return values
}

function isJson(bytes: Buffer): boolean {
  try {
    JSON.parse(bytes.toString())
    return isUtf8(bytes)
  } catch {
    return false
  }
}

function valuesIn(path: string, media: string, text: string): unknown[] {
  if (media === 'application/json') return [JSON.parse(text)]
  if (/jsonl|ndjson/.test(media))
    return text
      .split('\n')
      .filter(Boolean)
      .map((line) => JSON.parse(line))
  if (media !== 'text/event-stream') return []
  if (apiOf(path) === 'anthropic') {
    const { events, error } = messageStreamOf(text)
    assert.equal(error, undefined, JSON.stringify(error))
    return events
  }
  assert.ok(text.endsWith('data: [DONE]\n\n'), `a stream that does not end: ${text.slice(-200)}`)
  const events = text.split('\n\n').filter((event) => event.startsWith('data: {'))
  const values = events.map((event) => JSON.parse(event.slice('data: '.length)))
  // What could not be answered is reported before the head.
  for (const value of values) assert.ok(!('error' in value), JSON.stringify(value))
  return values
}

/** The refusals of a body by a route that accepts none. */
const ofBodies = ['malformed_json', 'unsupported_media_type', 'body_too_deep', 'body_too_large']

function assertRefuses({ path, operation }: Target, status: number, type: string, text: string): unknown {
  assert.match(type, /^application\/json(;|$)/)
  const body = JSON.parse(text)
  const wire = apiOf(path)
  const { code, reason } = {
    openai: () => ({ code: body.error.code, reason: body.error.message }),
    anthropic: () => ({ code: body.error.details.error_code, reason: body.error.message }),
    ollama: () => ({ code: body.code, reason: body.error }),
    record: () => body as { code: string; reason: string },
  }[wire]()
  assert.ok(typeof reason === 'string' && reason !== '', text)
  const isUnasked = operation.requestBody === undefined && ofBodies.includes(code)
  // A name in a path that no route can have leads to no route.
  if (code !== 'route_not_found' && !isUnasked)
    assert.ok(String(status) in operation.responses, `${status} is not documented: ${text}`)
  const schema = operation.responses[status]?.content?.['application/json']?.schema
  if (schema) assert.equal(fits(schema, body), undefined, text)
  assert.ok(code in refusals, `${code} is not in the catalogue`)
  const expected = refusals[code as keyof typeof refusals].status
  assert.equal(status, wire !== 'record' && code === 'invalid_request' ? 400 : expected, text)
  return body
}
