import assert from 'node:assert/strict'
import { after, before, describe, type TestContext, test } from 'node:test'
import { linesOf, recordsOf } from '../support/answers.ts'
import { keys, openApp } from '../support/app.ts'
import { completeOf, project } from '../support/calls.ts'
import { allDrivers, type Driver } from '../support/drivers.ts'
import { create } from '../support/objects.ts'
import { storeCalls } from '../support/stored-calls.ts'

const ref = (tail: string, of = project) => `weave:///${of}/object/${tail}`

/** A document of a call as it was sent and as it is read, with and without expanded refs. */
interface Case {
  columns: string[]
  given: string
  shown: string
}

for (const driver of allDrivers()) {
  describe(`calls with ${driver.name}`, () => {
    before(driver.start)
    after(driver.stop)
    expanding(driver)
    statuses(driver)
  })
}

function expanding(driver: Driver): void {
  const open = async (t: Pick<TestContext, 'after'>) => {
    const opened = await openApp(t, { database: await driver.open(t) })
    /** The inputs of the single call, as text. */
    const expanded = async (inputs: string, body: object) => {
      const { id, ...call } = completeOf({ trace_id: '0'.repeat(32) })
      const text = JSON.stringify({ batch: [{ ...call, id, inputs: { HERE: 1 } }] })
      const written = await opened.post(
        '/v2/acme/qa/calls/complete',
        text.replace('{"HERE":1}', inputs.replaceAll('$', '$$$$')),
      )
      assert.equal(written.status, 200, written.text)
      const filter = { call_ids: [id] }
      const answer = await opened.post('/calls/stream_query', { project_id: project, filter, ...body })
      assert.equal(answer.status, 200, answer.text)
      const [line = ''] = linesOf(answer)
      return line.slice(line.indexOf('"inputs":') + '"inputs":'.length, line.indexOf(',"output":'))
    }
    const createText = async (name: string, val: string) => {
      const body = `{"obj":{"project_id":"${project}","object_id":"${name}","val":${val}}}`
      const answer = await opened.post('/obj/create', body)
      assert.equal(answer.status, 200, answer.text)
    }
    return { ...opened, expanded, createText }
  }

  test('refs in the given columns are replaced by their values, with every digit', async (t) => {
    const { expanded, createText } = await open(t)
    await createText('data', '{"rows":1.0}')
    await createText('self', `{"n":9007199254740993,"data":"${ref('data:v0')}"}`)
    await createText('own', '{"_ref":"its own","n":1}')
    await createText('empty', '{}')
    await createText('list', '[1.50,{"a":2}]')
    await createText('nothing', 'null')
    const [self, data] = [ref('self:v0'), ref('data:v0')]
    const selfShown = `{"n":9007199254740993,"data":"${data}","_ref":"${self}"}`
    const deepShown = `{"n":9007199254740993,"data":{"rows":1.0,"_ref":"${data}"},"_ref":"${self}"}`
    for (const { columns, given, shown } of [
      {
        columns: ['inputs.self'],
        given: `{"a":1.0,"self":"${self}","b":"${self}"}`,
        shown: `{"a":1.0,"self":${selfShown},"b":"${self}"}`,
      },
      {
        columns: ['inputs.self.data', 'inputs.self'],
        given: `{"self":"${self}"}`,
        shown: `{"self":${deepShown}}`,
      },
      { columns: ['inputs.self.data'], given: `{"self":"${self}"}`, shown: `{"self":"${self}"}` },
      {
        columns: ['inputs.self', 'inputs.self.data'],
        given: `{"self":{"data":"${data}","n":2.0}}`,
        shown: `{"self":{"data":{"rows":1.0,"_ref":"${data}"},"n":2.0}}`,
      },
      {
        columns: ['inputs.list.1', 'inputs.a\\.b', 'inputs.list.0.x'],
        given: `{"list":["${data}","${data}"],"a.b":"${data}","a":{"b":"${data}"}}`,
        shown: `{"list":["${data}",{"rows":1.0,"_ref":"${data}"}],"a.b":{"rows":1.0,"_ref":"${data}"},"a":{"b":"${data}"}}`,
      },
      { columns: ['inputs.x'], given: `{"x":"${ref('own:v0')}"}`, shown: '{"x":{"_ref":"its own","n":1}}' },
      {
        columns: ['inputs.x'],
        given: `{"x":"${ref('empty:latest')}"}`,
        shown: `{"x":{"_ref":"${ref('empty:latest')}"}}`,
      },
      {
        columns: ['inputs.x', 'inputs.y', 'inputs.z'],
        given: `{"x":"${ref('list:v0')}","y":"${ref('list:v0/index/0')}","z":"${ref('self:v0/attr/data/attr/rows')}"}`,
        shown: '{"x":[1.50,{"a":2}],"y":1.50,"z":1.0}',
      },
      {
        columns: ['inputs.x'],
        given: `{"x":"other:\\/\\/\\/${project}\\/object\\/empty:v0"}`,
        shown: `{"x":{"_ref":"other:\\/\\/\\/${project}\\/object\\/empty:v0"}}`,
      },
      { columns: ['inputs.x'], given: `{"x":"${ref('nothing:v0')}"}`, shown: `{"x":"${ref('nothing:v0')}"}` },
    ] satisfies Case[]) {
      assert.equal(await expanded(given, { expand_columns: columns }), shown)
      assert.equal(
        await expanded(given, { expand_columns: columns, return_expanded_column_values: true }),
        shown,
      )
      assert.equal(
        await expanded(given, { expand_columns: columns, return_expanded_column_values: null }),
        shown,
      )
      assert.equal(
        await expanded(given, { expand_columns: columns, return_expanded_column_values: false }),
        given,
      )
      assert.equal(await expanded(given, { expand_columns: [] }), given)
    }
  })

  test('refs to nothing, to another tenant or to something other than an object stay unchanged', async (t) => {
    const opened = await open(t)
    const { expanded, createText, post } = opened
    await post(
      '/obj/create',
      { obj: { project_id: 'globex/qa', object_id: 'o', val: { secret: 1 } } },
      keys.bob,
    )
    await createText('o', '{"a":1}')
    await createText('through', `{"foreign":"${ref('o:v0', 'globex/qa')}"}`)
    await createText('deleted', '{"a":1}')
    await createText('around', `{"next":"${ref('around:latest/attr/next')}"}`)
    await post('/obj/delete', { project_id: project, object_id: 'deleted', digests: ['v0'] })
    for (const value of [
      ref('nobody:v0'),
      ref('o:v7'),
      ref('o:v0/attr/nothing'),
      ref('o:v0/id/row'),
      ref('deleted:v0'),
      ref('o:v0', 'globex/qa'),
      ref('o:v0', 'globex/none'),
      ref('through:v0/attr/foreign/attr/secret'),
      ref('around:v0/attr/next/attr/x'),
      ref('o%00:v0'),
      ref('o:v0/attr'),
      ref(`${'o'.repeat(5000)}:v0`),
      ref('o\0:v0'),
      ref('o:\ud800'),
      `weave:///${project}/table/abc`,
      `weave:///${project}/call/abc`,
      'weave:///',
      'text',
      '',
      7,
      null,
      { a: ref('o:v0') },
      [ref('o:v0')],
    ]) {
      const given = `{"x":${JSON.stringify(value)},"y":"${ref('o:v0')}"}`
      const shown = given.replace(/"y":"(.*)"\}$/, '"y":{"a":1,"_ref":"$1"}}')
      assert.equal(await expanded(given, { expand_columns: ['inputs.x', 'inputs.y'] }), shown)
    }
  })

  test('every document of a call is expanded, and derived fields do not change', async (t) => {
    const { post } = await open(t)
    const opened = { post }
    const digest = await create(opened, 'o', { error: 1, status: 'no' })
    const o = ref(`o:${digest}`)
    const calls = await storeCalls(post, {
      one: { output: o, attributes: { o }, summary: { status_counts: o, weave: { other: o } } },
    })
    const expand_columns = ['output', 'attributes.o', 'summary.status_counts', 'summary.weave.other']
    const [record = {}] = recordsOf(await calls.query({ expand_columns }))
    const shown = { error: 1, status: 'no', _ref: o }
    assert.deepEqual(record.output, shown)
    assert.deepEqual(record.attributes, { o: shown })
    assert.deepEqual(record.summary, {
      status_counts: shown,
      weave: { other: shown, status: 'success', latency_ms: 1000, trace_name: 'answer' },
    })
    const [others = {}] = recordsOf(await calls.query({ expand_columns, columns: ['id'] }))
    assert.deepEqual([others.inputs, others.output, others.attributes], [{}, null, {}])
  })

  test('many calls are expanded in order, with a few reads per chunk', async (t) => {
    const database = await driver.open(t)
    let reads = 0
    const counting = {
      ...database,
      all: ((query) => {
        reads++
        return database.all(query)
      }) as typeof database.all,
      get: ((query) => {
        reads++
        return database.get(query)
      }) as typeof database.get,
    }
    const opened = await openApp(t, { database: counting })
    const digests: string[] = []
    for (let n = 0; n < 60; n++) digests.push(await create(opened, 'o', { n }))
    const batch = Array.from({ length: 300 }, (_, n) =>
      completeOf({ inputs: { n, o: ref(`o:${digests[n % 60]}`) } }),
    )
    await opened.post('/v2/acme/qa/calls/complete', { batch })
    const body = {
      project_id: project,
      expand_columns: ['inputs.o'],
      sort_by: [{ field: 'inputs.n', direction: 'desc' }],
    }
    reads = 0
    const found = recordsOf(await opened.post('/calls/stream_query', body))
    assert.ok(reads < 20, `${reads} reads`)
    assert.deepEqual(
      found.map(({ inputs }) => inputs),
      batch
        .map(({ inputs }, n) => ({ ...inputs, o: { n: n % 60, _ref: ref(`o:${digests[n % 60]}`) } }))
        .reverse(),
    )
  })

  test('expansion of a call is bounded: what does not fit stays a ref', async (t) => {
    const { post } = await open(t)
    const large = ref(`large:${await create({ post }, 'large', { text: 'x'.repeat(1_500_000) })}`)
    const small = ref(`small:${await create({ post }, 'small', { a: 1 })}`)
    const calls = await storeCalls(post, {
      one: { inputs: { a: large, b: large, c: large, d: small } },
      two: { inputs: { c: large } },
    })
    const expand_columns = 'a b c d'.split(' ').map((name) => `inputs.${name}`)
    const [one, two] = recordsOf(await calls.query({ expand_columns })) as {
      inputs: Record<string, { _ref: string } | string>
    }[]
    const shapes = (inputs: Record<string, { _ref: string } | string> = {}) =>
      Object.entries(inputs).map(([name, value]) => [name, typeof value === 'string' ? 'ref' : value._ref])
    assert.deepEqual(shapes(one?.inputs), [
      ['a', large],
      ['b', large],
      ['c', 'ref'],
      ['d', small],
    ])
    assert.deepEqual(shapes(two?.inputs), [['c', large]])
    assert.equal(one?.inputs.c, large)
  })
}

function statuses(driver: Driver): void {
  test('the stored status is the one that queries return', async (t) => {
    const { post } = await openApp(t, { database: await driver.open(t) })
    for (const [counts, status] of [
      ['{"error":1}', 'descendant_error'],
      ['{"error":0}', 'success'],
      ['{"error":-1}', 'success'],
      ['{"error":0.5}', 'descendant_error'],
      ['{"error":9007199254740993}', 'descendant_error'],
      ['{"error":"2"}', 'descendant_error'],
      ['{"error":"+2.0"}', 'descendant_error'],
      ['{"error":" 2"}', 'success'],
      ['{"error":"0x2"}', 'success'],
      ['{"error":"two"}', 'success'],
      ['{"error":""}', 'success'],
      ['{"error":1e999}', 'success'],
      ['{"error":"Infinity"}', 'success'],
      ['{"error":1e300}', 'descendant_error'],
      ['{"error":true}', 'success'],
      ['{"error":null}', 'success'],
      ['{"error":[1]}', 'success'],
      ['{"error":{"error":1}}', 'success'],
      ['["error",1]', 'success'],
      ['"error"', 'success'],
      ['5', 'success'],
      ['null', 'success'],
    ]) {
      const call = completeOf({ summary: { status_counts: 'HERE' } })
      const text = JSON.stringify({ batch: [call] }).replace('"HERE"', () => counts as string)
      assert.equal((await post('/v2/acme/qa/calls/complete', text)).status, 200)
      const query = {
        $expr: { $eq: [{ $getField: 'summary.weave.status' }, { $literal: status }] },
      }
      const filter = { call_ids: [call.id] }
      const answer = await post('/calls/stream_query', { project_id: project, filter, query })
      const [record] = recordsOf(answer) as { summary: { weave: { status: string } } }[]
      assert.equal(record?.summary.weave.status, status, `${counts}: ${answer.text}`)
    }
  })
}
