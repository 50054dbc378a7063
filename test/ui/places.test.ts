import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'

const skip = noBrowser
const calls = `/ui/${project}/calls`

const { open } = await pageTests(
  { after },
  {
    fill: async (page) => {
      await writeCalls(page, [chatCall(0, 'First?', 'One.'), chatCall(1, 'Second?', 'Two.')])
      await createQueue(page.post, { name: 'Hard questions' })
      const dataset = { object: { project_id: project, object_id: 'capitals', val: { rows: [] } } }
      await page.post('/obj/create', { obj: dataset.object })
    },
  },
)

for (const width of [360, 736, 768, 960, 1024, 1280, 1440]) {
  test(`every place is in sight at ${width} px`, { skip }, async (t) => {
    const viewport = { width, height: 800 }
    const { page, problems } = await open(t, calls, { viewport, key: keys.root })
    await page.waitForSelector('[role=row]:has-text("Second?")')
    const links = page.locator('header.top a:visible')
    const texts = await links.allTextContents()
    for (const name of ['Calls', 'Charts', 'Queues', 'Playground', 'Engine', 'People'])
      assert.ok(texts.includes(name), `${name} is not among ${texts.join(', ')}`)
    assert.ok(texts.includes(width < 736 ? 'My keys' : 'root'))
    for (const box of await links.evaluateAll((all) =>
      all.map((link) => link.getBoundingClientRect().toJSON()),
    ))
      assert.ok(box.left >= 0 && box.right <= width && box.width > 0, JSON.stringify(box))
    const places = page.locator('.top-places')
    assert.equal(await places.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth), 0)
    assert.deepEqual(problems, [])
  })
}

test('a tab is called what its screen is called', { skip }, async (t) => {
  const { page, problems } = await open(t, calls, { key: keys.root })
  const titled = (title: string) => page.waitForFunction((text) => document.title === text, title)
  await titled(`Calls of ${project} · Heddle`)
  for (const [path, title] of [
    [`${project}/queues`, `Queues · ${project}`],
    [`${project}/monitors`, `Monitors · ${project}`],
    [`${project}/data/capitals`, `capitals · ${project}`],
    [`${project}/call/${idOf('chat', 1)}`, `Trace of heddle.chat.completions · ${project}`],
    ['engine', 'Engine'],
    ['what/is/this/here', 'Not found'],
  ]) {
    await page.goto(new URL(`/ui/${path}`, page.url()).href)
    await titled(`${title} · Heddle`)
    assert.equal(await page.locator('h1').count(), 1)
  }
  await page.goto(new URL(`/ui/${project}/queues`, page.url()).href)
  await page.getByRole('link', { name: 'Hard questions', exact: true }).click()
  await titled(`Hard questions · ${project} · Heddle`)
  assert.deepEqual(problems, [])
})

test('the palette finds queues, objects and users by name, and changes the theme', { skip }, async (t) => {
  const { page, problems } = await open(t, calls, { key: keys.root })
  const find = async (text: string, option: string | RegExp) => {
    await page.keyboard.press('Control+k')
    await page.keyboard.type(text)
    await page.getByRole('option', { name: option }).click()
  }
  await find('dark', /^Theme: dark/)
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), 'dark')
  await find('hard q', /^Hard questions/)
  await page.getByRole('heading', { name: 'Hard questions' }).waitFor()
  await find('capit', /^capitals/)
  await page.waitForURL(/\/data\/capitals/)
  await find('bob', /^bob/)
  await page.waitForURL(/\/ui\/people/)
  assert.deepEqual(problems, [])
})

test('going back closes the preview and stays on the list', { skip }, async (t) => {
  const { page, problems } = await open(t, calls)
  await page.locator('[role=row]:has-text("First?") [role=gridcell]').last().click()
  await page.locator('.peek').waitFor()
  await page.keyboard.press('k')
  await page.locator('.peek >> text=Two.').waitFor()
  await page.goBack()
  await page.locator('.peek').waitFor({ state: 'detached' })
  assert.equal(new URL(page.url()).pathname, calls)
  assert.deepEqual(problems, [])
})
