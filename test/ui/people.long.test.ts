import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { pageTests } from '../support/page-app.ts'
import { prefilled, scriptedBackend, tokens } from '../support/scripted-backend.ts'
import { assertAccessible, goNarrow, narrow } from './accessible.ts'

const skip = noBrowser
const backend = scriptedBackend()
const { served, open: openPath } = await pageTests({ after }, { backend })

const open = (t: TestContext, path: string, opening: Parameters<typeof openPath>[2] = {}) =>
  openPath(t, `/ui/${path}`, { key: keys.root, ...opening })

async function made(name: string, role: 'member' | 'admin' = 'member'): Promise<string> {
  const { status, json, text } = await served().post('/users', { name, role, entities: ['acme'] }, keys.root)
  assert.equal(status, 200, text)
  return json.key.key
}

test('an admin adds a user with the keyboard alone, sees the new key once, and removes the user', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, 'people')
  await page.getByRole('button', { name: 'Add user' }).press('Enter')
  await page.getByLabel('Name', { exact: true }).focus()
  await page.keyboard.type('newcomer')
  await page.keyboard.press('Tab')
  await page.keyboard.type('acme, globex')
  await page.keyboard.press('Enter')
  const secret = String(await page.locator('dialog pre').textContent())
  assert.match(secret, /^hdl_/)
  await page.keyboard.press('Escape')
  await page.getByRole('cell', { name: 'editor of acme, editor of globex' }).waitFor()
  assert.equal((await served().get('/me', secret)).json.name, 'newcomer')
  assert.ok(!(await page.content()).includes(secret))
  await page.getByRole('button', { name: 'Remove newcomer' }).press('Enter')
  await page.getByRole('button', { name: 'Remove', exact: true }).press('Enter')
  await page.getByRole('cell', { name: 'newcomer', exact: true }).waitFor({ state: 'detached' })
  assert.equal((await served().get('/me', secret)).status, 401)
  await page.getByRole('button', { name: 'Add user' }).click()
  await page.getByLabel('Name', { exact: true }).fill('a b')
  await page.getByLabel('Entities or projects').fill('acme')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('name').waitFor()
  assert.deepEqual(
    problems.filter((one) => !one.includes('status of 422')),
    [],
  )
})

test('a user creates a key and revokes it, and revoking the key of the session signs out', {
  skip,
}, async (t) => {
  const key = await made('owner')
  const { page, problems } = await open(t, 'me', { key })
  await page.getByRole('button', { name: 'New key' }).click()
  await page.getByLabel('Name', { exact: true }).fill('<b>laptop</b>')
  await page.keyboard.press('Enter')
  const secret = String(await page.locator('dialog pre').textContent())
  await page.getByRole('button', { name: 'Done' }).click()
  await page.getByRole('button', { name: 'Revoke <b>laptop</b>' }).click()
  await page.getByRole('button', { name: 'Revoke', exact: true }).last().click()
  await page.getByRole('button', { name: 'Show 1 revoked' }).click()
  await page.getByRole('cell', { name: /^revoked/ }).waitFor()
  assert.equal((await served().get('/me', secret)).status, 401)
  assert.deepEqual(problems, [])
  await page.getByRole('button', { name: /^Revoke 0/ }).click()
  await page.getByRole('button', { name: 'Revoke', exact: true }).last().click()
  await page.getByLabel('Key', { exact: true }).waitFor()
})

test('members see no users, and a user of HEDDLE_USERS is told where its key is set', { skip }, async (t) => {
  const { page } = await open(t, 'people', { key: keys.alice })
  await page.getByText('Only admins can see users').waitFor()
  await page.getByRole('link', { name: 'My keys' }).click()
  await page.getByText('Your key is set in HEDDLE_USERS').waitFor()
  await page.goBack()
  await page.getByText('Only admins can see users').waitFor()
})

test('a viewer is offered nothing that would be refused, also where an address leads', {
  skip,
}, async (t) => {
  const grants = [{ scope: project, role: 'viewer' }]
  const { key } = (await served().post('/users', { name: 'vera', grants }, keys.root)).json.key
  const { page, problems } = await open(t, '', { key })
  const go = (path: string) => page.goto(`${served().address}${path}`)
  await page.getByRole('heading', { name: 'Projects' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'Ask' }).count(), 0)
  await go(`/ui/play?p=${encodeURIComponent(project)}`)
  await page.getByText(`Your role in ${project} may read, and not ask models.`).waitFor()
  await page.getByRole('textbox', { name: 'Message 1' }).fill('May I?')
  assert.ok(await page.getByRole('button', { name: 'Ask', exact: true }).isDisabled())
  for (const form of ['evals/new', 'judges/new']) {
    await go(`/ui/${project}/${form}`)
    await page.getByText('Your role may only read here.').waitFor()
    assert.equal(await page.getByRole('button', { name: /^(Start|Save)/ }).count(), 0)
  }
  await go(`/ui/${project}/monitors?new=-`)
  await page.getByRole('heading', { name: 'No monitors yet' }).waitFor()
  assert.equal(await page.getByRole('dialog').count(), 0)
  assert.deepEqual(problems, [])
})

test('the engine screen shows an answer in progress, to its user and to admins', {
  skip,
}, async (t) => {
  backend.script = async function* (request, signal) {
    yield prefilled(request)
    yield tokens('Well', request)
    await new Promise((_, reject) => signal.addEventListener('abort', () => reject(signal.reason)))
  }
  const leaving = new AbortController()
  t.after(() => leaving.abort())
  const asked = fetch(`${served().address}/v1/chat/completions`, {
    method: 'POST',
    signal: leaving.signal,
    headers: { 'x-api-key': keys.alice, 'content-type': 'application/json' },
    body: JSON.stringify({ messages: [{ role: 'user', content: 'Hi' }], stream: true }),
  })
  const { page, problems } = await open(t, 'engine', { key: keys.bob })
  const admin = await open(t, 'engine')
  await admin.page.getByRole('cell', { name: 'alice' }).waitFor()
  const own = await open(t, 'engine', { key: keys.alice })
  await own.page.getByRole('cell', { name: 'alice' }).waitFor()
  await page.getByText('No running answers to show.').waitFor()
  assert.ok(!(await page.locator('main').textContent())?.includes('alice'))
  assert.equal((await asked).status, 200)
  leaving.abort()
  await admin.page.getByText('No running answers to show.').waitFor()
  assert.deepEqual([...problems, ...admin.problems, ...own.problems], [])
})

test('users, keys and engine are accessible', { skip }, async (t) => {
  const key = await made('reader', 'admin')
  const { page, problems } = await open(t, 'people', { key, ...narrow })
  for (const path of ['people', 'me', 'engine']) {
    await goNarrow(page, `${served().address}/ui/${path}`)
    await page.waitForSelector('table, .slots')
    await assertAccessible(page)
    assert.deepEqual(problems, [])
  }
})
