import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { linesOf } from '../../support/answers.ts'
import { openApp } from '../../support/app.ts'
import { project, startOf } from '../../support/calls.ts'

/** JSON texts that JavaScript would not write back unchanged, and the same texts without white space. */
const samples: [sent: string, kept?: string][] = [
  ['{"n":9223372036854775807}'],
  ['{"n":-9223372036854775808}'],
  ['{"n":18446744073709551616123456789}'],
  ['{"n":1.0}'],
  ['{"n":1.50}'],
  ['{"n":-0}'],
  ['{"n":-0.0}'],
  ['{"n":1e400}'],
  ['{"n":1E5}'],
  ['{"n":1e+05}'],
  ['{"n":0.1000000000000000055511151231257827}'],
  ['{"n":[1.0,[2.00,{"m":3.000}]]}'],
  ['{"text":"\\u00e9\\u4E2d\\ud83d\\udc4b"}'],
  ['{"text":"é中👋"}'],
  ['{"text":"\\/ \\b\\f\\n\\r\\t\\\\ \\""}'],
  ['{"half":"\\ud800"}'],
  ['{"zero":"a\\u0000b"}'],
  ['{"b":1,"a":2,"10":3,"9":4}'],
  ['{"a.b":1,"a":{"b":2},"":3}'],
  ['{"deep":{"__proto__":{"a":1},"constructor":2}}'],
  ['{"deep":{"a":1,"a":2.0,"a":3.00}}'],
  ['{"deep":{"\\u0061":1}}'],
  ['{ "a" : [ 1.0 , 2 ] , "b" : { } , "c" : [ ] }', '{"a":[1.0,2],"b":{},"c":[]}'],
  ['{\r\n\t"a": "two  spaces, [ { : ",\n "b"\n:\ttrue\n}', '{"a":"two  spaces, [ { : ","b":true}'],
  [
    '{"ends with a backslash \\\\" : "\\\\\\"" , "x" : 1.0 }',
    '{"ends with a backslash \\\\":"\\\\\\"","x":1.0}',
  ],
]

/** Shared by all cases; each has calls of its own. */
const { post } = await openApp({ after })

for (const [sent, kept = sent] of samples) {
  test(`P9: ${JSON.stringify(sent)} comes back with its digits`, async () => {
    const weave = '"weave":{"status":"success","latency_ms":1000,"trace_name":"answer"}'
    const common = (id: string) => `"project_id": "${project}", "id": "${id}"`
    const start = (id: string) =>
      `{"start": {${common(id)}, "op_name": "answer", "started_at": "2026-01-02T00:00:00Z",
        "attributes": ${sent}, "inputs":${sent}}}`
    const end = (id: string) =>
      `{"end": {${common(id)}, "ended_at": "2026-01-02T00:00:01Z", "output":  ${sent} , "summary": {"mine": ${sent}}}}`
    const complete = (id: string) =>
      `{"batch": [{${start(id).slice('{"start": {'.length, -2)},${end(id).slice('{"end": {'.length, -2)}, "trace_id": "${id}"}]}`

    const ids = [startOf().id, startOf().id, startOf().id]
    const [first, second, third] = ids as [string, string, string]
    for (const [url, body] of [
      ['/call/start', start(first)],
      ['/call/end', end(first)],
      [
        '/call/upsert_batch',
        `{"batch":[{"mode":"end","req":${end(second)}},{"req":${start(second)},"mode":"start"}]}`,
      ],
      ['/v2/acme/qa/calls/complete', complete(third)],
    ] as const) {
      const { status, text } = await post(url, body)
      assert.equal(status, 200, text)
    }

    const expected = [
      `"attributes":${kept},`,
      `"inputs":${kept},`,
      `"output":${kept},`,
      `"summary":{"mine":${kept},${weave}},`,
    ]
    for (const id of ids) {
      const { text } = await post('/call/read', { project_id: project, id })
      for (const part of expected) assert.ok(text.includes(part), `${part} is not in ${text}`)
    }
    const lines = linesOf(
      await post('/calls/stream_query', { project_id: project, filter: { call_ids: ids } }),
    )
    assert.equal(lines.length, 3)
    for (const line of lines) {
      for (const part of expected) assert.ok(line.includes(part), `${part} is not in ${line}`)
    }
  })
}

test('P9: an output of any kind comes back with its digits', async () => {
  for (const output of [
    '1.0',
    '-0',
    '9007199254740993',
    '1e400',
    '"\\u00e9"',
    '[1.0,2.50]',
    'true',
    'null',
  ]) {
    const { id } = startOf()
    const body = `{"batch":[{"project_id":"${project}","id":"${id}","trace_id":"${id}","op_name":"answer","attributes":{},"inputs":{},
      "started_at":"2026-01-02","ended_at":"2026-01-02","summary":{},"output":${output}}]}`
    assert.equal((await post('/v2/acme/qa/calls/complete', body)).status, 200)
    const { text } = await post('/call/read', { project_id: project, id })
    assert.ok(text.includes(`"output":${output},`), text)
  }
})

test('P9: numbers keep their digits in a body that is read in parts', async () => {
  const { id } = startOf()
  const filling = `"${'x'.repeat(300_000)}"`
  const start = `{"project_id":"${project}","id":"${id}","op_name":"answer","started_at":"2026-01-02",
    "attributes":{ "n" : 9007199254740993 },"inputs":{"filling":${filling},"n":1.0}}`
  const batch = `{ "batch" : [ {"mode":"start","req":{"start":${start}}} ] }`
  assert.equal((await post('/call/upsert_batch', batch)).status, 200)
  const { text } = await post('/call/read', { project_id: project, id })
  assert.ok(text.includes('"attributes":{"n":9007199254740993},'))
  assert.ok(text.includes(`"inputs":{"filling":${filling},"n":1.0},`))
})

test('P9: when a field is given twice the last one counts, also when it is null', async () => {
  for (const [fields, output] of [
    ['"output":1.0,"output":2.0', '2.0'],
    ['"output":{"a":1},"output":null', 'null'],
    ['"output":null,"output":{"a":1.0}', '{"a":1.0}'],
  ]) {
    const { id } = startOf()
    const body = `{"batch":[{"project_id":"${project}","id":"${id}","trace_id":"${id}","op_name":"answer","attributes":{},"inputs":{},
      "started_at":"2026-01-02","ended_at":"2026-01-02","summary":{},${fields}}]}`
    assert.equal((await post('/v2/acme/qa/calls/complete', body)).status, 200)
    const { text } = await post('/call/read', { project_id: project, id })
    assert.ok(text.includes(`"output":${output},`), text)
  }
})
