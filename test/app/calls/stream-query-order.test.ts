import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { openApp } from '../../support/app.ts'
import { storeCalls } from '../../support/stored-calls.ts'

const by = (...fields: string[]) => ({
  sort_by: fields.map((entry) => {
    const [field, direction = 'asc'] = entry.split(' ')
    return { field, direction }
  }),
})

const id = (digit: string) => `${digit.repeat(8)}-${`${digit.repeat(4)}-`.repeat(3)}${digit.repeat(12)}`

/** The ids are not in the order of the times. */
const calls = {
  a: { id: id('3'), inputs: { n: 2 }, display_name: 'Z', svc_run_step: 5 },
  b: { id: id('1'), inputs: { n: 10, text: 'x' }, ended_at: '2026-01-02T03:01:07Z' },
  c: { id: id('4'), inputs: { n: 'nine' }, display_name: 'a', exception: 'Error' },
  d: { id: id('2'), inputs: { n: null }, svc_run_step: 40, running: true },
  e: { id: id('5'), inputs: { n: -1.5, text: 'é' } },
}

/** Shared by all cases, because none of them writes. */
const { found } = await storeCalls((await openApp({ after })).post, calls)

for (const [body, expected] of [
  [{}, 'abcde'],
  [{ sort_by: null }, 'abcde'],
  [{ sort_by: [] }, 'abcde'],
  [by('started_at'), 'abcde'],
  [by('started_at desc'), 'edcba'],
  [by('id'), 'bdace'],
  [by('id desc'), 'ecadb'],
  [by('ended_at'), 'abced'],
  [by('display_name'), 'acedb'],
  [by('display_name desc'), 'caedb'],
  [by('svc_run_step'), 'adecb'],
  [by('svc_run_step desc'), 'daecb'],
  [by('wb_run_step desc'), 'daecb'],
  [by('inputs.n'), 'eabcd'],
  [by('inputs.n desc'), 'baecd'],
  [by('inputs.text'), 'becad'],
  [by('summary.weave.status'), 'cdeab'],
  [by('summary.weave.status', 'started_at'), 'cdabe'],
  [by('summary.weave.status desc', 'started_at desc'), 'ebadc'],
  [by('summary.weave.latency_ms desc', 'started_at'), 'baced'],
  [by('summary.weave.trace_name', 'started_at'), 'acbde'],
  [by('exception', 'id'), 'cbdae'],
  [by('op_name', 'started_at desc'), 'edcba'],
] as [Record<string, unknown>, string][]) {
  test(`calls/stream_query: the order by ${JSON.stringify(body)}`, async () => {
    assert.equal((await found(body)).join(''), expected)
    const pages = []
    for (let offset = 0; offset < 5; offset += 2) pages.push(...(await found({ ...body, offset, limit: 2 })))
    assert.equal(pages.join(''), expected)
  })
}

test('calls/stream_query: calls with equal times are sorted by id', async (t) => {
  const { post } = await openApp(t)
  const started_at = '2026-01-02T00:00:00Z'
  const { found } = await storeCalls(
    post,
    Object.fromEntries(Object.entries(calls).map(([name, call]) => [name, { id: call.id, started_at }])),
  )
  assert.equal((await found()).join(''), 'bdace')
  assert.equal((await found(by('started_at'))).join(''), 'bdace')
  assert.equal((await found(by('started_at desc'))).join(''), 'ecadb')
})
