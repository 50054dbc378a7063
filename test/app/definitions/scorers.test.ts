import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { project } from '../../support/calls.ts'
import { scoreSchema } from '../../support/monitors.ts'

const { post, get } = await openApp({ after })
const url = `/v2/${project}/scorers`

test('a judge and a check are versions of a scorer, and are read as they were made', async () => {
  const judge = { prompt: 'Rate {answer}', schema: scoreSchema, temperature: 0.5 }
  const fields = { answer: 'output.text' }
  const made = await post(url, { name: 'Good Answer', judge, fields })
  assert.equal(made.status, 200, made.text)
  const { scorer, digest, version_index } = made.json
  assert.equal(scorer, `weave:///${project}/object/good_answer:${digest}`)
  assert.equal(version_index, 0)
  const { json } = await get(`${url}/good_answer/versions/${digest}`)
  assert.deepEqual(
    { judge: json.judge, check: json.check, fields: json.fields, score_op: json.score_op },
    { judge, check: null, fields, score_op: null },
  )
  const check = { kind: 'length', max: 9_007_199_254_740_991 }
  const next = await post(url, { name: 'Good Answer', check })
  assert.equal(next.json.version_index, 1, next.text)
})

test('a scorer says which of its values are better, and one that does not is stored as before', async () => {
  const check = { kind: 'length', max: 9 }
  const plain = (await post(url, { name: 'short', check })).json
  const stated = (await post(url, { name: 'short', check, direction: 'lower' })).json
  assert.equal((await post(url, { name: 'short', check, direction: null })).json.digest, plain.digest)
  const directionOf = async ({ digest }: { digest: string }) =>
    (await get(`${url}/short/versions/${digest}`)).json.direction
  assert.deepEqual([await directionOf(plain), await directionOf(stated)], [null, 'lower'])
  const refused = await post(url, { name: 'short', check, direction: 'down' })
  assert.equal(refused.status, 422, refused.text)
  assert.match(refused.json.reason, /direction: .*"higher"\|"lower"\|"none"/)
})

test('a scorer that could never run is refused, and the field is named', async () => {
  const refused = async (body: object, status = 400) => {
    const answer = await post(url, { name: 'bad', ...body })
    assert.equal(answer.status, status, answer.text)
    return answer.json.reason as string
  }
  const judge = (fields: object) => ({ judge: { prompt: '{output}', schema: scoreSchema, ...fields } })
  for (const [body, reason] of [
    [{}, /^judge: nothing; accepted: one of op_source_code, judge, check/],
    [{ check: { kind: 'tokens', max: 1 }, ...judge({}) }, /^check: a value together with judge/],
    [judge({ prompt: 'Rate it' }), /^judge.prompt: no field of the call/],
    [judge({ prompt: '{output' }), /^judge.prompt: the "\{" at character 1/],
    [judge({ prompt: '{answer}' }), /^judge.prompt: "answer" is not a field of a call/],
    [{ ...judge({}), fields: { answer: 'outputs' } }, /^fields.answer: "outputs" is not a field/],
    [judge({ schema: { type: 'nothing' } }), /^judge.schema: the keyword type/],
    [judge({ schema: { not: {} } }), /^judge.schema: /],
    [{ check: { kind: 'json_schema', schema: { type: 'nothing' } } }, /^check.schema: /],
    [{ check: { kind: 'regex', pattern: '(a' } }, /^check.pattern: a value that cannot be read/],
    [{ check: { kind: 'regex', pattern: '^(a+)+$' } }, /^check.pattern: a value that takes more than/],
    [{ check: { kind: 'regex', pattern: 'a', field: 'answer' } }, /^check.field: "answer" is not a field/],
    [{ check: { kind: 'contains' } }, /^check: no text/],
    [{ check: { kind: 'length' } }, /^check: no bound/],
    [{ check: { kind: 'length', min: 3, max: 2 } }, /^check.min: 3; accepted: at most check.max, 2/],
  ] as const) {
    assert.match(await refused(body), reason)
  }
  assert.match(await refused(judge({ temprature: 1 }), 422), /judge.temprature: unknown field/)
  assert.match(await refused({ check: { kind: 'vibes' } }, 422), /check.kind/)
  assert.match(await refused({ ...judge({}), fields: { 'a b': 'output' } }, 422), /fields/)
})
