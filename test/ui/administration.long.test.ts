import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { monitorsOf } from '../support/monitors.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'
import { assertAccessible, narrow } from './accessible.ts'

const skip = noBrowser
const { served, open: openPath } = await pageTests({ after })

const open = (t: TestContext, path: string, opening: Parameters<typeof openPath>[2] = {}) =>
  openPath(t, `/ui/${path}`, { key: keys.root, ...opening })

async function made(name: string, grants: object[]): Promise<string> {
  const { status, json, text } = await served().post('/users', { name, grants }, keys.root)
  assert.equal(status, 200, text)
  return json.key.key
}

const viewer = { scope: project, role: 'viewer' }

test('an invitation is three clicks from Projects, and whoever opens its link gets a key', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, '')
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('For whom').fill('Erin')
  await page.getByLabel('Entities or projects').fill(project)
  await page.getByLabel('Role there').selectOption('annotator')
  await page.getByRole('button', { name: 'Create link' }).click()
  const link = String(await page.locator('dialog pre').textContent())
  await page.getByRole('button', { name: 'Done' }).click()
  assert.ok(!(await page.content()).includes(link))
  await page.getByRole('link', { name: 'Invitations' }).click()
  await page.getByRole('cell', { name: `annotator of ${project}` }).waitFor()
  const invited = await page.context().newPage()
  await invited.goto(link)
  await invited.getByLabel('Choose a name').fill('erin')
  await invited.getByRole('button', { name: 'Accept' }).click()
  const key = String(await invited.locator('pre').textContent())
  assert.deepEqual((await served().get('/me', key)).json.name, 'erin')
  await invited.getByRole('button', { name: 'Sign in' }).click()
  await invited.getByRole('link', { name: 'erin' }).waitFor()
  await invited.goto(link)
  await invited.getByLabel('Choose a name').fill('mallory')
  await invited.getByRole('button', { name: 'Accept' }).click()
  await invited.getByRole('alert').getByText('invitation').waitFor()
  assert.deepEqual(problems, [])
})

test('an invitation that is withdrawn makes nobody', { skip }, async (t) => {
  const { json } = await served().post('/invitations', { grants: [viewer], note: 'Frank' }, keys.root)
  const { page } = await open(t, 'people/invitations')
  await page.getByRole('button', { name: 'Withdraw Frank' }).click()
  await page.getByRole('button', { name: 'Withdraw', exact: true }).last().click()
  await page.getByRole('cell', { name: 'Frank', exact: true }).waitFor({ state: 'detached' })
  const accepted = await served().post('/invitations/accept', { secret: json.secret, name: 'frank' })
  assert.equal(accepted.status, 404)
})

test('a key is three clicks from Projects, does only what it may, and rotates', { skip }, async (t) => {
  const key = await made('keeper', [{ scope: 'acme', role: 'editor' }])
  const { page, problems } = await open(t, '', { key })
  await page.getByRole('link', { name: 'keeper' }).click()
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name', { exact: true }).fill('reader')
  await page.getByLabel('May do').selectOption('some')
  await page.getByLabel('read', { exact: true }).check()
  await page.getByLabel('Expires').selectOption('30')
  await page.getByRole('button', { name: 'Create key' }).click()
  const old = String(await page.locator('dialog pre').textContent())
  await page.getByRole('button', { name: 'Done' }).click()
  assert.equal((await served().post('/calls/query_stats', { project_id: project }, old)).status, 200)
  assert.equal((await served().post('/calls/delete', { project_id: project, call_ids: [] }, old)).status, 403)
  await page.getByRole('button', { name: 'Rotate reader' }).click()
  await page.getByRole('button', { name: 'Make the new key' }).click()
  const next = String(await page.locator('dialog pre').textContent())
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('cell', { name: 'reader' }).nth(1).waitFor()
  for (const both of [old, next]) assert.equal((await served().get('/me', both)).status, 200)
  const { keys: rows } = (await served().get('/keys', key)).json
  assert.deepEqual(
    rows
      .slice(1)
      .map(({ scopes, expires_at }: { scopes: string[]; expires_at: unknown }) => [
        scopes,
        expires_at === null,
      ]),
    [
      [['read'], false],
      [['read'], false],
    ],
  )
  assert.deepEqual(problems, [])
})

test('a viewer is offered nothing that the server would refuse', { skip }, async (t) => {
  const { post } = served()
  await writeCalls(served(), [chatCall(7, 'Capital?', 'Lima.', { thread_id: 'visit' })])
  assert.equal((await post(`/v2/${project}/datasets`, { name: 'cities', rows: [{ q: 1 }] })).status, 200)
  const { scorer, monitor } = monitorsOf(served())
  const watch = await monitor([await scorer('short', { check: { kind: 'length', max: 9 } })])
  const queue = await createQueue(post)
  const lists = ['calls', 'evals', 'judges', 'monitors', 'datasets', 'queues']
  const details = [`call/${idOf('chat', 7)}`, 'conversation?thread=visit', `monitors/${watch}`]
  const paths = [...lists, ...details, `queues/${queue}`, 'data/cities']
  const changing =
    /^(Ask again|Dataset|Delete.*|Edit|From a file|Judge .*|New .*|Pause|Playground|Review.*|.*To (queue|dataset))$/i
  const offered = async (key: string) => {
    const { page, problems } = await open(t, '', { key })
    const seen: string[] = []
    for (const path of paths) {
      await page.goto(`${served().address}/ui/${project}/${path}`)
      await page.waitForFunction(
        () => document.querySelector('main h1') && !document.querySelector('.skeleton'),
      )
      const all = page.locator('main').locator('button, a')
      const names = await all.evaluateAll((them) =>
        them.map((each) => each.getAttribute('aria-label') ?? each.textContent.trim()),
      )
      if (names.some((name) => changing.test(name) && name !== 'Reviewers')) seen.push(path)
    }
    assert.deepEqual(problems, [])
    return seen
  }
  assert.deepEqual(await offered(await made('vera', [viewer])), [])
  assert.deepEqual(await offered(await made('ed', [{ ...viewer, role: 'editor' }])), paths)
})

test('an admin adds and removes a role, and sets a limit, which the audit log has', { skip }, async (t) => {
  const key = await made('gina', [viewer])
  const { page, problems } = await open(t, 'people')
  await page.getByRole('button', { name: 'Roles gina' }).click()
  await page.getByLabel('Entity or project').fill('globex')
  await page.getByLabel('Role there').selectOption('editor')
  const isAdded = Promise.withResolvers<void>()
  await page.route('**/users/gina**', async (route) => {
    await isAdded.promise
    await route.continue()
  })
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  // A role that is removed meanwhile would take the new one with it.
  await page.getByRole('button', { name: `Remove ${project}` }).waitFor({ state: 'detached' })
  isAdded.resolve()
  await page.getByRole('button', { name: `Remove ${project}` }).click()
  await page.getByRole('cell', { name: project, exact: true }).waitFor({ state: 'detached' })
  await page.getByLabel('Entity or project').fill('..')
  await page.getByRole('button', { name: 'Add', exact: true }).click()
  await page.getByRole('alert').getByText('grants').waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('cell', { name: 'editor of globex' }).last().waitFor()
  await page.getByRole('button', { name: 'Limits gina' }).click()
  await page.getByLabel('Requests a minute').fill('many')
  await page.getByRole('button', { name: 'Save limits' }).click()
  await page.getByRole('alert').getByText('expected a number').waitFor()
  await page.getByLabel('Requests a minute').fill('60')
  await page.getByRole('button', { name: 'Save limits' }).click()
  await page.getByRole('cell', { name: 'requests per minute: 60' }).waitFor()
  const { grants, settings } = (await served().get('/me', key)).json
  assert.deepEqual(settings, { requests_per_minute: 60 })
  assert.deepEqual(
    grants.map(({ scope, role }: { scope: string; role: string }) => [scope, role]),
    [['globex', 'editor']],
  )
  await page.getByRole('link', { name: 'Audit' }).click()
  await page.getByLabel('What').fill('user.set')
  await page.getByRole('button', { name: 'Filter' }).click()
  await page.getByRole('cell', { name: 'change requests per minute 60' }).waitFor()
  assert.ok(!(await page.getByRole('table').textContent())?.includes('{'))
  assert.equal(await page.getByRole('cell', { name: 'add user' }).count(), 0)
  assert.match(page.url(), /action=user\.set/)
  assert.deepEqual(
    problems.filter((one) => !one.includes('status of 422')),
    [],
  )
})

test('the audit log is read page by page', { skip }, async (t) => {
  for (let index = 0; index < 101; index++) {
    const body = { requests_at_once: index + 1 }
    assert.equal((await served().send('PUT', '/users/bob/settings', body, keys.root)).status, 200)
  }
  const { page } = await open(t, 'people/audit?action=user.set&actor=root')
  const cell = (limit: number) => page.getByRole('cell', { name: new RegExp(`requests at once ${limit}$`) })
  await cell(101).waitFor()
  const deed = page.getByTitle('user.set', { exact: true }).first()
  assert.equal(await deed.textContent(), 'set user')
  assert.equal(await cell(1).count(), 0)
  await page.getByRole('button', { name: 'Older' }).click()
  await cell(1).waitFor()
  await page.getByRole('button', { name: 'Newest' }).click()
  await cell(101).waitFor()
})

test('a budget is set, shown with what is spent, changed and removed', { skip }, async (t) => {
  const { page, problems } = await open(t, 'people/budgets')
  await page.getByRole('button', { name: 'New budget' }).click()
  await page.getByLabel('Name', { exact: true }).fill(project)
  await page.getByLabel('May be spent').fill('a lot')
  await page.getByRole('button', { name: 'Set budget' }).click()
  await page.getByRole('alert').getByText('amount').waitFor()
  await page.getByLabel('May be spent').fill('12.50')
  await page.getByRole('button', { name: 'Set budget' }).click()
  await page.getByRole('cell', { name: '0 of 12.5 USD a month' }).waitFor()
  await page.getByRole('cell', { name: '12.5 USD', exact: true }).waitFor()
  const seen = await open(t, 'people/budgets', { key: keys.alice })
  await seen.page.getByRole('cell', { name: `project ${project}` }).waitFor()
  await seen.page.getByRole('cell', { name: '80 %' }).waitFor()
  assert.equal(await seen.page.locator('main button').count(), 0)
  await page.getByRole('button', { name: `Change project ${project}` }).click()
  await page.getByLabel('Warn from').fill('50')
  await page.getByRole('button', { name: 'Save budget' }).click()
  await page.getByRole('cell', { name: '50 %' }).waitFor()
  const log = await open(t, 'people/audit?action=budget.add')
  const details = log.page.getByRole('cell', { name: `${project} ` }).first()
  assert.match((await details.textContent()) ?? '', /warn at80 %without a pricefree/)
  await page.getByRole('button', { name: `Delete project ${project}` }).click()
  await page.getByRole('button', { name: 'Delete', exact: true }).last().click()
  await page.getByText('No budgets yet').waitFor()
  assert.deepEqual(
    problems.filter((one) => !one.includes('status of 422')),
    [],
  )
})

test('an admin of one entity invites to it, and sees neither users nor the audit log', {
  skip,
}, async (t) => {
  const key = await made('hank', [{ scope: 'acme', role: 'admin' }])
  const { page, problems } = await open(t, '', { key })
  await page.getByRole('link', { name: 'People' }).click()
  await page.getByRole('link', { name: 'Budgets' }).waitFor()
  assert.equal(await page.getByRole('link', { name: /^(Users|Audit)$/ }).count(), 0)
  await page.getByRole('button', { name: 'Invite' }).click()
  await page.getByLabel('Entities or projects').fill('globex')
  await page.getByRole('button', { name: 'Create link' }).click()
  await page.getByRole('alert').getByText('globex').waitFor()
  assert.deepEqual(
    problems.filter((one) => !one.includes('status of 403')),
    [],
  )
})

test('the screens of people are accessible', { skip }, async (t) => {
  await served().post('/invitations', { grants: [viewer], note: 'Iris' }, keys.root)
  await served().post('/budgets', { scope: 'server', window: 'day', amount: '1' }, keys.root)
  const { page, problems } = await open(t, 'people', narrow)
  for (const [path, button] of [
    ['people', 'Add user'],
    ['people/invitations', 'Invite'],
    ['people/budgets', 'New budget'],
    ['people/audit', undefined],
  ]) {
    await page.setViewportSize(narrow.viewport)
    await page.goto(`${served().address}/ui/${path}`)
    await page.waitForSelector('main table')
    await assertAccessible(page)
    if (button === undefined) continue
    await page.getByRole('button', { name: button }).click()
    await assertAccessible(page)
  }
  assert.deepEqual(problems, [])
})
