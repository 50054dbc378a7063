import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, type TestContext, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser } from '../support/browser.ts'
import { completeOf, project } from '../support/calls.ts'
import { pageTests, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'
import { assertAccessible, narrow } from './accessible.ts'

const skip = noBrowser
const { served, open: openPath } = await pageTests(
  { after },
  { sweep: true, settings: { HEDDLE_WEBHOOK_ALLOW: 'loopback' } },
)

const open = (t: TestContext, path: string, opening: Parameters<typeof openPath>[2] = {}) =>
  openPath(t, `/ui/${project}/${path}`, opening)

/** Counts what it gets, and answers 204, or 410 until it is told otherwise. */
async function startReceiver(t: TestContext, status: number) {
  const receiver = { count: 0, status, url: '' }
  const server = createServer((_, response) => {
    receiver.count++
    response.statusCode = receiver.status
    response.end()
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/in`
  return receiver
}

const failedCall = () => {
  const at = new Date().toISOString()
  return completeOf({ op_name: 'refund', started_at: at, ended_at: at, exception: 'Error: no' })
}

test('a filter of the calls becomes a rule, which is tried, fires, is delivered and paused', {
  skip,
}, async (t) => {
  const receiver = await startReceiver(t, 204)
  await writeCalls(served(), [failedCall()])
  const { page, problems } = await open(t, 'alerts/endpoints')
  await page.getByRole('button', { name: 'New endpoint' }).click()
  await page.getByLabel('Name', { exact: true }).fill('ops')
  await page.getByLabel('Address').fill(receiver.url)
  await page.getByRole('button', { name: 'Add endpoint' }).click()
  assert.match(String(await page.locator('dialog pre').textContent()), /^whsec_/)
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name: 'ops', exact: true }).waitFor()

  await page.goto(`${served().address}/ui/${project}/calls?q=op%3Arefund`)
  await page.getByRole('link', { name: 'Alert', exact: true }).click()
  await page.getByLabel('Name', { exact: true }).fill('Refunds')
  assert.equal(await page.getByLabel('Calls, by the filter').inputValue(), 'op:refund')
  await page.getByRole('button', { name: 'Try on the last day' }).click()
  await page.getByText('1 matches, 1 messages').waitFor()
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByRole('cell', { name: 'not in 30 days' }).waitFor()

  await writeCalls(served(), [failedCall()])
  await page.getByRole('link', { name: 'Deliveries' }).click()
  await page.getByRole('cell', { name: 'alert.fired Refunds' }).waitFor()
  await page.getByRole('link', { name: 'Alerts' }).click()
  await page.getByRole('cell', { name: 'a call that ends and meets op:refund' }).waitFor()
  assert.equal(await page.getByRole('cell', { name: 'not in 30 days' }).count(), 0)
  await page.getByRole('button', { name: 'Pause Refunds' }).click()
  await page.getByRole('cell', { name: 'paused' }).waitFor()
  const { rules } = (await served().get(`/alert_rules?project_id=${project}`)).json
  assert.deepEqual([rules.length, rules[0].active], [1, false])
  assert.deepEqual(problems, [])
})

test('a rule over a window is made by the form, and what the server refuses is shown', {
  skip,
}, async (t) => {
  const { page } = await open(t, 'alerts?new=-')
  await page.getByLabel('Name', { exact: true }).fill('Slow')
  await page.getByLabel('Looks at').selectOption('window')
  await page.getByLabel('Figure').selectOption('latency_p95_ms')
  await page.getByLabel('Of the last minutes').fill('0')
  await page.getByLabel('This number').fill('2000')
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByRole('alert').getByText('window.seconds').waitFor()
  await page.getByLabel('Of the last minutes').fill('10')
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByRole('cell', { name: '95th percentile of latency, ms above 2000 in 10 min' }).waitFor()
})

test('rules over a queue and over decisions are made by the form', { skip }, async (t) => {
  const queue = await createQueue(served().post, { name: 'Hard questions' })
  const { page, problems } = await open(t, 'alerts?new=-')
  await page.getByLabel('Name', { exact: true }).fill('Many')
  await page.getByLabel('Looks at').selectOption('queue')
  await page.getByLabel('Queue', { exact: true }).selectOption({ label: 'Hard questions' })
  await page.getByLabel('From this many waiting items on').fill('20')
  await page.getByRole('button', { name: 'Try on the last day' }).click()
  await page.getByText('0 matches, 0 messages').waitFor()
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByRole('cell', { name: 'from 20 waiting items of a queue on' }).waitFor()
  await page.getByRole('button', { name: 'New rule' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Done')
  await page.getByLabel('Looks at').selectOption('queue')
  await page.getByLabel('From this many waiting items on').fill('0')
  await page.getByRole('button', { name: 'Create rule' }).click()
  await page.getByRole('cell', { name: 'when no item of a queue waits any more' }).waitFor()
  for (const [name, answer, bound] of [
    ['Rude', '', '0.9'],
    ['Billing', 'billing', ''],
  ] as const) {
    await page.getByRole('button', { name: 'New rule' }).click()
    await page.getByLabel('Name', { exact: true }).fill(name)
    await page.getByLabel('Looks at').selectOption('decision')
    await page.getByLabel('Name of the question').fill('topic')
    await page.getByLabel('Answer').fill(answer)
    await page.getByLabel('This number').fill(bound)
    await page.getByRole('button', { name: 'Create rule' }).click()
    const text = bound === '' ? 'decision topic: billing' : 'decision topic: probability above 0.9'
    await page.getByRole('cell', { name: text, exact: true }).waitFor()
  }
  const { rules } = (await served().get(`/alert_rules?project_id=${project}`)).json
  const made = ['Many', 'Done', 'Rude', 'Billing'].map((name) =>
    rules.find((rule: { name: string }) => rule.name === name),
  )
  const none = { question: 'topic', answer: null, below: null, above: null }
  assert.deepEqual(
    made.map(({ queue, decision }) => queue ?? decision),
    [
      { queue_id: queue, waiting: 20 },
      { queue_id: null, waiting: 0 },
      { ...none, above: 0.9 },
      { ...none, answer: 'billing' },
    ],
  )
  assert.deepEqual(problems, [])
})

test('what was not delivered is shown with its answer, and sent again', { skip }, async (t) => {
  const receiver = await startReceiver(t, 410)
  const body = { project_id: project, name: 'gone', url: receiver.url }
  const { json } = await served().post('/alert_endpoints', body)
  await served().post(`/alert_endpoints/${json.endpoint.id}/test`, { project_id: project })
  const { page } = await open(t, 'alerts/deliveries?state=dead')
  const dead = page.getByRole('cell', { name: /^410/ })
  const seen = async () => {
    await page.reload()
    await page.waitForSelector('main table, main .state')
    return (await dead.count()) > 0
  }
  while (!(await seen()));
  receiver.status = 204
  await page.getByRole('link', { name: 'Endpoints' }).click()
  await page.getByRole('button', { name: 'Resume gone' }).click()
  await page.getByRole('button', { name: 'Pause gone' }).waitFor()
  await page.getByRole('button', { name: 'Replay dead gone' }).click()
  await page.getByRole('button', { name: 'Replay dead gone' }).waitFor({ state: 'detached' })
})

test('an address is broken between its steps, and not inside a word', { skip }, async (t) => {
  const url = 'https://hooks.example.com/services/of-the-desk/for-customers/of-the-shop?urgent=yes'
  await served().post('/alert_endpoints', { project_id: project, name: 'far', url })
  const { page } = await open(t, 'alerts/endpoints', narrow)
  await page.setViewportSize({ width: 1024, height: 800 })
  // What may be a secret is not shown.
  const lines = await page
    .getByRole('row', { name: 'far' })
    .locator('.quality-why')
    .evaluate((address) => {
      const range = document.createRange()
      return [...address.children].map((step) => {
        range.selectNodeContents(step)
        return [step.textContent, range.getClientRects().length]
      })
    })
  assert.deepEqual(lines, [
    ['https://', 1],
    ['hooks.example.com/', 1],
    ['services/', 1],
    ['of-the-desk/', 1],
    ['for-customers/', 1],
    ['of-the-shop', 1],
    ['?…', 1],
  ])
})

test('a price is set for a million tokens, shown and removed', { skip }, async (t) => {
  const { page, problems } = await open(t, 'prices')
  await page.getByRole('button', { name: 'Set price' }).click()
  await page.getByRole('textbox', { name: 'Model' }).fill('small')
  await page.getByLabel('A million tokens of prompts').fill('2.5')
  await page.getByLabel('A million tokens of answers').fill('2500')
  await page.getByLabel('Currency').press('Enter')
  for (const price of ['2.5', '2,500'])
    await page.getByRole('cell', { name: `${price} USD a million tokens`, exact: true }).waitFor()
  const { results } = (await served().post('/cost/query', { project_id: project })).json
  assert.deepEqual([results[0].prompt_token_cost, results[0].completion_token_cost], [2.5e-6, 2.5e-3])
  await page.getByRole('button', { name: 'Remove small' }).click()
  await page.getByRole('button', { name: 'Remove', exact: true }).last().click()
  await page.getByText('No prices yet').waitFor()
  assert.deepEqual(problems, [])
})

test('a viewer sees rules and deliveries, and nothing to change them', { skip }, async (t) => {
  const grants = [{ scope: project, role: 'viewer' }]
  const { json } = await served().post('/users', { name: 'vera', grants }, keys.root)
  const { page, problems } = await open(t, 'alerts?new=-', { key: json.key.key })
  await page.getByRole('link', { name: 'Deliveries' }).waitFor()
  await page.waitForSelector('main table, main .state')
  assert.equal(await page.locator('dialog').count(), 0)
  assert.equal(await page.locator('main button').count(), 0)
  assert.equal(await page.getByRole('link', { name: /^(Endpoints|People)$/ }).count(), 0)
  await page.getByRole('link', { name: 'Prices' }).click()
  await page.waitForSelector('main table, main .state')
  assert.equal(await page.locator('main button').count(), 0)
  await page.getByRole('link', { name: 'Calls' }).click()
  await page.getByRole('button', { name: 'Views' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'Alert', exact: true }).count(), 0)
  assert.deepEqual(problems, [])
})

test('the screens of settings are accessible', { skip }, async (t) => {
  await served().post('/alert_rules', { project_id: project, name: 'Any', on: 'call' })
  await served().post('/cost/create', {
    project_id: project,
    costs: { small: { prompt_token_cost: 1e-6, completion_token_cost: 1e-6 } },
  })
  const { page, problems } = await open(t, 'alerts', narrow)
  for (const [path, button] of [
    ['alerts', 'New rule'],
    ['alerts/endpoints', 'New endpoint'],
    ['alerts/deliveries', undefined],
    ['prices', 'Set price'],
  ]) {
    await page.setViewportSize(narrow.viewport)
    await page.goto(`${served().address}/ui/${project}/${path}`)
    await page.waitForSelector('main table, main .state')
    await assertAccessible(page)
    if (button === undefined) continue
    await page.getByRole('button', { name: button }).click()
    await assertAccessible(page)
  }
  assert.deepEqual(problems, [])
})
