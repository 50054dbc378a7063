import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import type { Engine } from '../../ui/server/engine.ts'
import { noBrowser } from '../support/browser.ts'
import { pageTests } from '../support/page-app.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'

const skip = noBrowser

const { open } = await pageTests({ after }, { backend: scriptedBackend() })

/** A project without calls, while the engine reports this state. */
async function openEmpty(t: TestContext, project: string, engine: Partial<Engine>) {
  const { page, problems } = await open(t, '/ui/me')
  await page.route('**/views/engine', async (route) => {
    const response = await route.fetch()
    await route.fulfill({ response, json: { ...((await response.json()) as Engine), ...engine } })
  })
  await page.goto(new URL(`/ui/${project}/calls`, page.url()).href)
  await page.getByRole('heading', { name: 'No calls yet' }).waitFor()
  return { page, problems }
}

test('an empty project explains how to make a first call: with the model, or without one from a program', {
  skip,
}, async (t) => {
  const asked = await openEmpty(t, 'acme/empty', {})
  await asked.page.getByText('Ask the model, and the answer appears here a moment later').waitFor()
  await asked.page.getByText("-H 'x-heddle-project: acme/empty'").waitFor()

  const unserved = await openEmpty(t, 'acme/empty', { models: [] })
  await unserved.page.getByText('No model is served here').waitFor()
  await unserved.page.getByText('/call/start').waitFor()

  const unrecorded = await openEmpty(t, 'acme/empty', { recording: 'off' })
  await unrecorded.page.getByText('Recording is off for you').waitFor()
  await unrecorded.page.getByText('/call/start').waitFor()

  const stored = await openEmpty(t, 'acme/empty', { recording: 'asked' })
  await stored.page.getByText('if the request has "store": true').waitFor()
  assert.deepEqual(
    [asked, unserved, unrecorded, stored].flatMap(({ problems }) => problems),
    [],
  )
})

const nobodys = '018f5b8c-0000-7000-8000-000000000000'

test('a missing page says so, offers no retry, and links to the list', { skip }, async (t) => {
  const { page } = await open(t, '/ui/me')
  for (const [path, title, way, lands] of [
    [`queues/${nobodys}`, 'Queue not found', 'All queues', 'queues'],
    [`queues/${nobodys}/review`, 'Queue not found', 'All queues', 'queues'],
    [`call/${nobodys}`, 'Call not found', 'All calls of the project', 'calls'],
    [`trace/${nobodys}`, 'Trace not found', 'All calls of the project', 'calls'],
    ['data/nothing', 'Object not found', 'All objects', 'objects'],
    ['calibrations/nothing', 'Judge not found', 'All judges', 'judges'],
    [`evals/new?runs=${nobodys}`, 'Run not found', 'All runs', 'evals'],
  ] as const) {
    await page.goto(new URL(`/ui/acme/qa/${path}`, page.url()).href)
    await page.getByRole('heading', { name: title }).waitFor()
    assert.equal(await page.getByRole('button', { name: 'Try again' }).count(), 0, path)
    assert.equal(await page.getByText(/^\w+: there is/).count(), 0, path)
    await page.getByRole('link', { name: way }).click()
    await page.waitForURL(`**/ui/acme/qa/${lands}`)
  }
  await page.goto(new URL('/ui/acme/qa/agent', page.url()).href)
  await page.getByRole('heading', { name: 'No calls of this agent' }).waitFor()
})

test('a project without access shows only that, and a link to the projects of the user', {
  skip,
}, async (t) => {
  const { page } = await open(t, '/ui/me')
  for (const section of [
    'calls',
    'agents',
    'agent?agent=a',
    'search?q=a',
    'charts',
    'evals',
    'evals/new',
    'judges',
    'monitors',
    'datasets',
    'queues',
    'objects',
  ]) {
    await page.goto(new URL(`/ui/globex/demo/${section}`, page.url()).href)
    await page.getByRole('heading', { name: 'You have no access to this' }).waitFor()
    const main = page.getByRole('main')
    assert.deepEqual(await main.getByRole('link').allTextContents(), ['Your projects'], section)
    assert.equal(await main.locator('button, input, select').count(), 0, section)
  }
})

test('projects after the first thousand can be shown', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/me')
  await page.route('**/projects?*', (route) => {
    const isFurther = new URL(route.request().url()).searchParams.get('after') === 'acme/p999'
    const projects = Array.from({ length: isFurther ? 5 : 1_000 }, (_, index) => ({
      project: `acme/p${isFurther ? 1_000 + index : index}`,
      is_being_deleted: false,
    }))
    return route.fulfill({ json: { projects, next: isFurther ? null : 'acme/p999' } })
  })
  await page.goto(new URL('/ui/', page.url()).href)
  await page.getByRole('link', { name: 'acme/p999' }).waitFor()
  assert.equal(await page.getByRole('link', { name: 'acme/p1004' }).count(), 0)
  await page.getByRole('button', { name: 'Show more' }).click()
  await page.getByRole('link', { name: 'acme/p1004' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Show more' }).count(), 0)
  assert.deepEqual(problems, [])
})
