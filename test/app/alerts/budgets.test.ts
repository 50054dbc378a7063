import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { pricesOf } from '../../support/prices.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

const project_id = 'acme/default'

test('a rule on budgets: the answer that passes the share is followed by one message', async (t) => {
  const { post, get, send } = await openApp(t, { backend: scriptedBackend() })
  await post('/cost/create', pricesOf({ scripted: {} }, project_id))
  const ask = () => post(chatUrl, asking({ max_tokens: 5 }))
  const { usage } = (await ask()).json
  const cost = (usage.prompt_tokens + 2 * usage.completion_tokens) / 1000
  const budget = await post(
    '/budgets',
    { scope: 'project', subject: project_id, window: 'month', amount: (4 * cost).toFixed(9) },
    keys.root,
  )
  assert.equal(budget.status, 200, budget.text)
  const { id } = budget.json.budget
  const made = await post('/alert_rules', { project_id, name: 'Half', on: 'budget', budget: { share: 0.5 } })
  assert.equal(made.status, 200, made.text)
  assert.deepEqual([made.json.rule.budget, made.json.rule.cooldown_seconds], [{ share: 0.5 }, 0])
  const rule_id = made.json.rule.id
  const events = async () => (await post('/alert_events/query', { project_id, rule_id })).json.events
  const tried = async (share: number) =>
    (await post('/alert_rules/try', { project_id, on: 'budget', budget: { share } })).json
  const spent = (times: number) =>
    until(`${times} answers are settled`, async () => {
      const { budgets } = (await get('/budgets')).json
      return Math.abs(Number(budgets[0].spent) - times * cost) < 1e-9 && budgets[0].reserved === '0'
    })

  assert.equal((await ask()).status, 200)
  await spent(1)
  assert.deepEqual(await events(), [])
  assert.deepEqual((await tried(0.5)).matches, 0)
  assert.equal((await ask()).status, 200)
  await spent(2)
  const [event, ...others] = await events()
  assert.deepEqual([event.type, others], ['alert.fired', []])
  const { from, to, ...about } = event.data.budget
  assert.match(`${from} ${to}`, /^\d{4}-\d\d-01T00:00:00Z \d{4}-\d\d-01T00:00:00Z$/)
  const { amount } = budget.json.budget
  assert.deepEqual(about, {
    ...{
      id,
      window: 'month',
      share: 0.5,
      spent: String(Number((2 * cost).toFixed(9))),
      amount,
      currency: 'USD',
    },
  })
  const { matches, messages, examples } = await tried(0.5)
  assert.deepEqual([matches, messages, examples[0].subject, examples[0].value], [1, 1, `budget ${id}`, 0.5])
  assert.equal((await tried(0.6)).matches, 0)

  assert.equal((await ask()).status, 200)
  await spent(3)
  assert.equal((await events()).length, 1)

  const changed = await send('PUT', `/alert_rules/${rule_id}`, { project_id, budget: { share: 0.9 } })
  assert.deepEqual(changed.json.rule.budget, { share: 0.9 })
  const reset = await send('PUT', `/alert_rules/${rule_id}`, { project_id, budget: null })
  assert.equal(reset.status, 400)
  assert.match(reset.json.reason, /^budget: nothing/)
  // A rule of another tenant hears nothing of it.
  const theirs = { project_id: 'globex/default', on: 'budget', budget: { share: 0.01 } }
  assert.equal((await post('/alert_rules/try', theirs, keys.bob)).json.matches, 0)
  assert.equal((await post('/alert_rules/try', { ...theirs, project_id }, keys.bob)).status, 403)
})
