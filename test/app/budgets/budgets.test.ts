import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { asking, chatUrl } from '../../support/chat.ts'
import { pricesOf } from '../../support/prices.ts'
import { scriptedBackend } from '../../support/scripted-backend.ts'
import { until } from '../../support/wait.ts'

test('admins create, change and delete budgets; members see those that count their answers', async (t) => {
  const { post, get, send } = await openApp(t)
  const add = (fields: object, key = keys.root) =>
    post('/budgets', { window: 'day', amount: '5', ...fields }, key)
  const made = await add({ scope: 'user', subject: 'alice', amount: '12.50' })
  assert.equal(made.status, 200, made.text)
  const { id, created_at, opens_at, ...budget } = made.json.budget
  assert.deepEqual(budget, {
    ...{ scope: 'user', subject: 'alice', window: 'day', currency: 'USD', amount: '12.5' },
    ...{ warn_at: 0.8, block_unpriced: false, prices_of: null, created_by: 'root' },
    ...{ spent: '0', reserved: '0', left: '12.5' },
  })
  assert.match(opens_at, /T00:00:00Z$/)
  await add({ scope: 'user', subject: 'bob' })
  await add({ scope: 'entity', subject: 'globex' })
  await add({ scope: 'project', subject: 'acme/qa', window: 'month' })
  await add({
    scope: 'server',
    currency: 'EUR',
    warn_at: null,
    block_unpriced: true,
    prices_of: 'acme/prices',
  })
  const subjects = async (key: string) =>
    (await get('/budgets', key)).json.budgets.map(
      ({ scope, subject }: { scope: string; subject: string }) => `${scope} ${subject}`,
    )
  assert.deepEqual(await subjects(keys.alice), ['project acme/qa', 'server null', 'user alice'])
  assert.deepEqual(await subjects(keys.bob), ['entity globex', 'server null', 'user bob'])
  assert.equal((await subjects(keys.root)).length, 5)

  const changed = await send('PUT', `/budgets/${id}`, { amount: '3', warn_at: null }, keys.root)
  assert.deepEqual([changed.json.budget.amount, changed.json.budget.warn_at], ['3', null])
  assert.equal((await send('DELETE', `/budgets/${id}`, undefined, keys.root)).status, 200)
  assert.equal((await subjects(keys.root)).length, 4)
})

test('what cannot be a budget is refused by name', async (t) => {
  const { post, send } = await openApp(t)
  const refusal = async (fields: object, key = keys.root) => {
    const { status, json } = await post(
      '/budgets',
      { scope: 'server', window: 'day', amount: '5', ...fields },
      key,
    )
    return [status, json.code, json.reason]
  }
  const cases: [fields: object, status: number, code: string, reason: RegExp][] = [
    [{ amount: '-1' }, 422, 'invalid_request', /amount/],
    [{ amount: '0.0000000001' }, 422, 'invalid_request', /amount/],
    [{ amount: '1000001' }, 422, 'invalid_request', /amount/],
    [{ amount: 5 }, 422, 'invalid_request', /amount/],
    [{ window: 'week' }, 422, 'invalid_request', /window/],
    [{ warn_at: 2 }, 422, 'invalid_request', /warn_at/],
    [{ currency: 'US dollars' }, 422, 'invalid_request', /currency/],
    [{ hard: true }, 422, 'invalid_request', /hard/],
    [{ subject: 'acme' }, 400, 'invalid_value', /subject/],
    [{ scope: 'entity' }, 400, 'invalid_value', /subject/],
    [{ scope: 'entity', subject: '*' }, 400, 'invalid_value', /subject/],
    [{ scope: 'project', subject: 'acme' }, 400, 'invalid_value', /subject/],
    [{ scope: 'user', subject: 'nobody' }, 404, 'user_not_found', /nobody/],
    [{ scope: 'key', subject: 'nothing' }, 400, 'invalid_value', /subject/],
  ]
  for (const [fields, status, code, reason] of cases) {
    const [found, foundCode, foundReason] = await refusal(fields)
    assert.deepEqual([found, foundCode], [status, code], JSON.stringify(fields))
    assert.match(foundReason, reason)
  }
  assert.deepEqual((await refusal({}, keys.alice)).slice(0, 2), [403, 'role_forbidden'])
  assert.equal((await refusal({}))[0], 200)
  assert.deepEqual((await refusal({ amount: '6' })).slice(0, 2), [409, 'budget_exists'])
  for (const method of ['PUT', 'DELETE'] as const) {
    const { status, json } = await send(
      method,
      '/budgets/nothing',
      method === 'PUT' ? {} : undefined,
      keys.root,
    )
    assert.deepEqual([status, json.code], [404, 'budget_not_found'])
  }
})

test('a key with a budget of its own and one of its project spends of both', async (t) => {
  const { post, get } = await openApp(t, { backend: scriptedBackend() })
  const project_id = 'acme/default'
  const { user, key } = (await post('/users', { name: 'carol', entities: ['acme'] }, keys.root)).json
  assert.equal(user.name, 'carol')
  const other = (await post('/keys', { user: 'carol' }, keys.root)).json
  await post('/cost/create', pricesOf({ scripted: {} }, project_id))
  const { usage } = (await post(chatUrl, asking({ max_tokens: 5 }), key.key)).json
  const cost = (usage.prompt_tokens + 2 * usage.completion_tokens) / 1000
  const add = (scope: string, subject: string, times: number) =>
    post('/budgets', { scope, subject, window: 'month', amount: (times * cost).toFixed(9) }, keys.root)
  await add('key', key.id, 2)
  await add('project', project_id, 3)
  const ask = async (as: string) => {
    const { status, json } = await post(chatUrl, asking({ max_tokens: 5 }), as)
    return status === 200 ? 'answered' : json.error.message
  }
  const refusalOf = (subject: string) => new RegExp(`the budget of the ${subject} has 0 of`)
  assert.equal(await ask(key.key), 'answered')
  assert.equal(await ask(key.key), 'answered')
  assert.match(await ask(key.key), refusalOf(`key ${key.id}`))
  assert.equal(await ask(other.key), 'answered', 'another key of the same user has no budget')
  assert.match(await ask(other.key), refusalOf(`project ${project_id}`))
  await until('all is settled', async () => {
    const { json } = await get('/budgets', key.key)
    const spent = json.budgets.map((budget: { scope: string; spent: string }) => [
      budget.scope,
      Number(budget.spent),
    ])
    assert.equal(spent.length, 2)
    return (
      JSON.stringify(spent) ===
      JSON.stringify([
        ['key', 2 * cost],
        ['project', 3 * cost],
      ])
    )
  })
})

test('from a share on answers warn, in a header, a log line and a metric', async (t) => {
  const { post, get } = await openApp(t, { backend: scriptedBackend() })
  await post('/cost/create', pricesOf({ scripted: {} }, 'acme/default'))
  await post('/budgets', { scope: 'server', window: 'month', amount: '1', warn_at: 0.01 }, keys.root)
  const first = await post(chatUrl, asking({ max_tokens: 5 }))
  assert.equal(first.headers['x-heddle-budget'], undefined)
  await until('an answer warns', async () => {
    const { headers } = await post(chatUrl, asking({ max_tokens: 5, stream: true }))
    const header = headers['x-heddle-budget']
    if (header === undefined) return false
    assert.match(
      String(header),
      /^[\w-]+;scope=server;spent=0\.\d+;amount=1;currency=USD;until=\d{4}-\d\d-01T00:00:00Z$/,
    )
    return true
  })
  const metrics = (await get('/metrics', keys.root)).text
  assert.match(metrics, /heddle_budget_warnings_total\{scope="server",window="month"\} 1\n/)
})

test('a model without a price is free, unless the budget blocks it or has other prices', async (t) => {
  const { post, get, send } = await openApp(t, { backend: scriptedBackend() })
  const ask = async () => {
    const { status, json } = await post(chatUrl, asking({ max_tokens: 5 }))
    return status === 200 ? 200 : [status, json.error.type, json.error.code]
  }
  const made = await post('/budgets', { scope: 'server', window: 'day', amount: '0.000000001' }, keys.root)
  const change = (fields: object) => send('PUT', `/budgets/${made.json.budget.id}`, fields, keys.root)
  assert.equal(await ask(), 200)
  await change({ block_unpriced: true })
  assert.deepEqual(await ask(), [403, 'permission_error', 'model_unpriced'])
  await post('/cost/create', pricesOf({ scripted: { prompt_token_cost_unit: 'EUR' } }, 'acme/default'))
  assert.deepEqual(await ask(), [403, 'permission_error', 'model_unpriced'])
  // The members of a project could set its prices to nothing.
  await post(
    '/cost/create',
    pricesOf({ scripted: { prompt_token_cost: 0, completion_token_cost: 0 } }, 'acme/default'),
  )
  assert.equal(await ask(), 200)
  await post('/cost/create', pricesOf({ scripted: {} }, 'globex/prices'), keys.root)
  await change({ prices_of: 'globex/prices' })
  assert.deepEqual(await ask(), [429, 'insufficient_quota', 'budget_exceeded'])
  assert.equal((await get('/budgets', keys.alice)).json.budgets[0].spent, '0')
})

test('whence the prices of a budget come is not told to those who may not see that project', async (t) => {
  const { post, get } = await openApp(t, { backend: scriptedBackend() })
  for (const prices_of of ['globex/prices', 'acme/default'])
    await post(
      '/budgets',
      {
        ...{ scope: 'server', window: 'day', amount: '1', block_unpriced: true, prices_of },
        currency: prices_of === 'acme/default' ? 'EUR' : 'USD',
      },
      keys.root,
    )
  const refused = await post(chatUrl, asking({ max_tokens: 5 }))
  assert.equal(refused.json.error.code, 'model_unpriced')
  const listed = await get('/budgets', keys.alice)
  for (const { text } of [refused, listed]) assert.doesNotMatch(text, /globex/)
  assert.match(listed.text, /"prices_of":"acme\/default"/)
  assert.match((await get('/budgets', keys.root)).text, /globex\/prices/)
})
