import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import type { Locator } from 'playwright-core'
import { keys } from '../support/app.ts'
import { noBrowser } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { monitorsOf } from '../support/monitors.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'

const skip = noBrowser
const calls = `/ui/${project}/calls`

const { open, served } = await pageTests(
  { after },
  {
    fill: async (page) => {
      await writeCalls(page, [chatCall(0, 'First?', 'One.'), chatCall(1, 'Second?', 'Two.')])
      await createQueue(page.post, { name: 'Hard questions' })
      const dataset = { object: { project_id: project, object_id: 'capitals', val: { rows: [] } } }
      await page.post('/obj/create', { obj: dataset.object })
      const { scorer, monitor } = monitorsOf(page)
      await monitor([await scorer('short', { check: { kind: 'length', max: 20 } })], { name: 'Too long' })
    },
  },
)

test('every place is in one line, in sight or a swipe away, from 360 to 1440 px', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/me', { key: keys.root })
  for (const width of [360, 736, 768, 960, 1024, 1280, 1440]) {
    await page.setViewportSize({ width, height: 800 })
    await page.goto(`${served().address}/ui/${project}/queues`)
    await page.getByRole('link', { name: 'Hard questions', exact: true }).waitFor()
    const links = page.locator('header.top a:visible')
    const texts = await links.allTextContents()
    for (const name of ['Calls', 'Charts', 'Queues', 'Playground', 'Engine', 'People'])
      assert.ok(texts.includes(name), `${width} px: ${name} is not among ${texts.join(', ')}`)
    assert.ok(texts.includes(width < 736 ? 'My keys' : 'root'), `${width} px: ${texts.join(', ')}`)
    const places = page.locator('.top-places')
    const excess = await places.evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
    // On a phone or a small tablet they scroll sideways, and nothing else does.
    assert.equal(excess > 0, width < 800, `${width} px: an excess of ${excess}`)
    const boxOf = (link: Locator) => link.evaluate((element) => element.getBoundingClientRect().toJSON())
    const isInSight = (box: DOMRect) => box.left >= 0 && box.right <= width && box.width > 0
    const current = await boxOf(places.locator('[aria-current]'))
    assert.ok(isInSight(current), `${width} px: ${JSON.stringify(current)}`)
    for (const link of await links.all()) {
      await link.evaluate((element) => element.scrollIntoView({ block: 'nearest', inline: 'nearest' }))
      const box = await boxOf(link)
      assert.ok(isInSight(box), `${width} px: ${JSON.stringify(box)}`)
    }
    const tops = await places
      .getByRole('link')
      .evaluateAll((all) => all.map((link) => link.getBoundingClientRect().top))
    assert.equal(new Set(tops).size, 1, `${width} px: tops of ${tops}`)
    assert.deepEqual(problems, [])
  }
})

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

test('the palette finds queues, objects, monitors and users by name, and changes the theme', {
  skip,
}, async (t) => {
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
  await find('too l', /^Too long/)
  await page.getByRole('heading', { name: 'Too long' }).waitFor()
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
