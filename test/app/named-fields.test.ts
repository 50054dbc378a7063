import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { z } from 'zod'
import { traits } from '../../src/domain/fields.ts'
import { codeOf } from '../support/answers.ts'
import { type Answer, keys } from '../support/app.ts'
import { project } from '../support/calls.ts'
import { documentedPath, documentOf, type Schema } from '../support/openapi.ts'
import { addressOf, openAppWithRoutes } from '../support/routes.ts'
import { adminsOnly, methodOf, sampleBodies, sampleBodyOf } from '../support/sample-bodies.ts'
import { scriptedBackend, scriptedModel } from '../support/scripted-backend.ts'
import { changed, type Field, fieldsOf, formOf, missing, type Path } from './contract-fields.ts'

/** A value of each JSON type, and how a message may describe it. */
const valuesOfTypes: [type: string, value: unknown, description: RegExp][] = [
  ['null', null, /^null$/],
  ['boolean', true, /^(true|boolean)$/],
  ['number', 5.5, /^(5\.5|number)$/],
  ['string', 'x', /^("x"|string)$/],
  ['array', [], /^(a list|array)$/],
  ['array', [[['x']]], /^(a list|array)$/],
  ['object', {}, /^(an object|object)$/],
  ['object', { x: { x: 1 } }, /^(an object|object)$/],
]

/** The JSON types that a schema accepts; undefined for any. */
function typesOf({ type, enum: values, anyOf, oneOf }: Schema): Set<string> | undefined {
  const alternatives = anyOf ?? oneOf
  if (alternatives) {
    const types = alternatives.map(typesOf)
    return types.includes(undefined) ? undefined : new Set(types.flatMap((found) => [...(found ?? [])]))
  }
  if (type === undefined && values === undefined) return undefined
  return new Set([type ?? values?.map((value) => typeof value) ?? []].flat().map(asNumber))
}

const asNumber = (type: string) => (type === 'integer' ? 'number' : type)

/** The other names of a field, by the field's path, of every part of a contract for which the sample has a value. */
function* aliasesOf(schema: unknown, sample: unknown, path: Path = []): Generator<[string, string]> {
  if (schema instanceof z.ZodUnion) {
    for (const option of schema.options) yield* aliasesOf(option, sample, path)
    return
  }
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable)
    return yield* aliasesOf(schema.unwrap(), sample, path)
  if (schema instanceof z.ZodPipe) {
    for (const [alias, name] of Object.entries(traits.get(schema)?.aliases ?? {})) {
      if (schema.out instanceof z.ZodObject && name in schema.out.shape)
        yield [[...path, name].join('.'), alias]
    }
    yield* aliasesOf(schema.out, sample, path)
    return yield* aliasesOf(schema.in, sample, path)
  }
  if (schema instanceof z.ZodArray && Array.isArray(sample)) {
    for (const [index, item] of sample.entries()) yield* aliasesOf(schema.element, item, [...path, index])
    return
  }
  if (!(schema instanceof z.ZodObject) || typeof sample !== 'object' || sample === null) return
  for (const [name, member] of Object.entries(schema.shape)) {
    yield* aliasesOf(member, (sample as Record<string, unknown>)[name], [...path, name])
  }
}

/** The answer names the field by exactly this path, blames nothing else, and says what was sent. */
function assertBlamed(answer: Answer, path: Path, value: unknown, description: RegExp): void {
  const place = path.join('.')
  const context = `${place} ${JSON.stringify(value)}: ${answer.status} ${answer.text.slice(0, 400)}`
  assert.ok(answer.status >= 400 && answer.status < 500, context)
  const { reason, detail = [], error } = answer.json
  if (error?.param !== undefined) assert.equal(error.param, place, context)
  for (const { loc } of detail) assert.deepEqual(loc, ['body', ...path], context)
  const message: string = reason ?? error.message ?? error
  const [, field, received] =
    /^(?:The body does not fit the schema: )?(\S+?): .*?(?:, received (.*))?\.$/.exec(message) ?? []
  assert.equal(field, place, context)
  if (codeOf(answer) !== 'invalid_request') return
  assert.equal(new Set(detail.map(({ loc }: { loc: Path }) => loc.join('.'))).size, detail.length, context)
  assert.match(received ?? '', description, context)
}

const backend = scriptedBackend()
backend.served = { ...scriptedModel, infill: { prefix: 1, suffix: 2, middle: 3, ends: [] } }
const opened = await openAppWithRoutes({ after }, { backend })
const { paths } = await documentOf(opened)

/** The aliases under which a wrong value was sent. */
const tried = new Set<string>()

for (const url of Object.keys(sampleBodies)) {
  // Accepts one of two fields: see test/app/page/sessions.test.ts.
  if (url === '/ui/session') continue
  const method = methodOf(url)
  const sample = () => sampleBodyOf(url, project)
  const { requestBody } = paths[documentedPath(url)]?.[method.toLowerCase()] ?? {}
  const contract = opened.routes.find((route) => route.url === url && route.method === method)?.body
  const schema = formOf(requestBody?.content['application/json'].schema as Schema, sample())
  const fields = () => [...fieldsOf(schema, sample())]
  const aliases = new Map<string, string[]>()
  for (const [name, alias] of aliasesOf(contract, sample())) {
    aliases.set(name, [...new Set([...(aliases.get(name) ?? []), alias])])
  }

  test(`${url}: a value of a wrong type is blamed on its field, as the client spells it`, async () => {
    for (const field of fields()) await tryField(field)
  })

  async function tryField({ path, schema, nullable }: Field): Promise<void> {
    const accepted = typesOf(schema)
    if (accepted === undefined) return
    for (const [type, value, description] of valuesOfTypes) {
      if (accepted.has(type) || (type === 'null' && nullable)) continue
      for (const spelled of [path.at(-1), ...(aliases.get(path.join('.')) ?? [])]) {
        const changedPath = [...path.slice(0, -1), spelled as string]
        const body = changed(changed(sample(), path, missing), changedPath, value)
        // An alias with null is left out.
        if (value === null && spelled !== path.at(-1)) continue
        const answer = await opened.send(
          method,
          addressOf({ url }),
          body,
          adminsOnly.has(url) ? keys.root : keys.alice,
        )
        assertBlamed(answer, changedPath, value, description)
        if (spelled !== path.at(-1)) tried.add(spelled as string)
      }
    }
  }
}

test('every alias was tried', () => {
  const all = 'wb_run_id wb_run_ids wb_run_step wb_run_step_end wb_user_id wb_user_ids weave_ref'
  assert.deepEqual([...tried].toSorted(), all.split(' '))
})

const feedback = { project_id: project, feedback_type: 'thumbs', payload: {} }

const results = '/v2/acme/qa/eval_results/query'
const chat = '/v1/chat/completions'
const messages = [{ role: 'user', content: 'Hi' }]
const tool = { name: 'find', parameters: { type: 'object', properties: { 'a/b': { type: 'x' } } } }

/** Refusals about the value of a field or about several fields, not about the type of one. */
const refused: [what: string, url: string, body: object, place: string, message: RegExp][] = [
  ['half a reference', '/feedback/create', { ...feedback, svc_ref: 'weave:///acme' }, 'svc_ref', /"weave:/],
  ['its alias', '/feedback/create', { ...feedback, weave_ref: 'weave:///acme' }, 'weave_ref', /"weave:/],
  [
    'its alias in a batch',
    '/feedback/batch/create',
    { batch: [{ ...feedback, weave_ref: 'weave:///acme' }] },
    'batch.0.weave_ref',
    /"weave:/,
  ],
  ['no ids', results, { evaluation_call_ids: [] }, 'evaluation_call_ids', /, received a list\.$/],
  ['no ids, by the alias', results, { evaluation_run_ids: [] }, 'evaluation_run_ids', /, received a list\.$/],
  ['neither ids nor their alias', results, {}, 'evaluation_call_ids', /, received nothing\.$/],
  [
    'a schema',
    chat,
    { messages, structured_outputs: { json: { items: { type: 'x' } } } },
    'structured_outputs.json',
    / keyword type at #\/items is /,
  ],
  [
    'a schema of a tool',
    chat,
    { messages, tools: [{ type: 'function', function: tool }] },
    'tools.0.function.parameters',
    / keyword type at #\/properties\/a~1b is /,
  ],
  [
    'a schema of a function',
    chat,
    { messages, functions: [tool] },
    'functions.0.parameters',
    / keyword type at #\/properties\/a~1b is /,
  ],
]
for (const [what, url, body, place, message] of refused) {
  test(`a refusal names the field as spelled: ${what}`, async () => {
    const { json, text } = await opened.post(url, body)
    const told: string = json.reason ?? json.error.message
    const whole = told.replace('The body does not fit the schema: ', '')
    assert.ok(whole.startsWith(`${place}: `), text)
    assert.match(whole, message)
    if (json.error) assert.equal(json.error.param, place)
  })
}

test('a number as a text may have white space around it, whatever the field', async () => {
  for (const text of [' 1 ', '\t1\n', '+1', '1.0']) {
    for (const name of ['seed', 'max_tokens', 'temperature', 'top_k']) {
      const answer = await opened.post(chat, { messages, [name]: text })
      assert.equal(answer.status, 200, `${name} ${JSON.stringify(text)}: ${answer.text}`)
    }
  }
  for (const text of ['', ' ', '1 2', '1.5', '+-1', 'x1']) {
    const { status, json } = await opened.post(chat, { messages, seed: text })
    assert.deepEqual([status, json.error.param], [400, 'seed'], text)
    assert.ok(json.error.message.endsWith(`, received ${JSON.stringify(text)}.`))
  }
})
