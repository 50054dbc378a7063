import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser, type Page } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { createQueue } from '../support/queues.ts'
import { until } from '../support/wait.ts'

const skip = noBrowser

const { served, open } = await pageTests(
  { after },
  {
    async fill(page) {
      const batch = Array.from({ length: 8 }, (_, index) => chatCall(index, `Question ${index}?`, 'Answer.'))
      await writeCalls(page, batch)
      const queue = await createQueue(page.post, { name: 'Round' })
      const call_ids = batch.map(({ id }) => id)
      await page.post(`/annotation_queues/${queue}/items`, { project_id: project, call_ids })
      const rows = [{ question: 'Capital of Mali?', answer: 'Bamako' }]
      await page.post(`/v2/${project}/datasets`, { name: 'capitals', rows })
      await page.post('/users', { name: 'carol', role: 'member', entities: ['acme'] }, keys.root)
      return { queue }
    },
  },
)

const path = '/ui/acme/qa'

/** Where the focus is; after the last control of a dialog it may be in the browser's own toolbar, which is no element. */
const focusIn = (page: Page) =>
  page.evaluate(() => {
    const { activeElement } = document
    if (activeElement === document.body) return 'nowhere'
    return activeElement?.closest('dialog') === null ? 'the page' : 'the dialog'
  })

const dialogs: [name: string, at: () => string, opener: string, user?: 'root'][] = [
  ['saved views', () => `${path}/calls`, 'Views'],
  ['ask again', () => `${path}/calls`, 'Ask again'],
  ['keyboard shortcuts', () => `${path}/calls`, 'Keyboard shortcuts'],
  ['palette', () => `${path}/calls`, 'Go to'],
  ['add to a queue', () => `${path}/calls?peek=${idOf('chat', 3)}`, 'To queue'],
  ['add to a dataset', () => `${path}/calls?peek=${idOf('chat', 3)}`, 'To dataset'],
  ['new queue', () => `${path}/queues`, 'New queue'],
  ['edit a queue', () => `${path}/queues/${served().queue}`, 'Edit'],
  ['delete a queue', () => `${path}/queues/${served().queue}`, 'Delete'],
  ['delete an object', () => `${path}/data/capitals`, 'Delete all'],
  ['copy as', () => '/ui/play?p=acme%2Fqa', 'Copy as'],
  ['keys of a user', () => '/ui/people', 'Keys', 'root'],
  ['remove a user', () => '/ui/people', 'Remove', 'root'],
]

test('a dialog is opened, used and closed with the keyboard, and the focus returns to its button', {
  skip,
}, async (t) => {
  const seenBy = { alice: await open(t, '/ui/me'), root: await open(t, '/ui/me', { key: keys.root }) }
  for (const [name, at, opener, user = 'alice'] of dialogs) {
    await t.test(name, async () => {
      const { page, problems } = seenBy[user]
      await page.goto(new URL(at(), page.url()).href)
      const where = opener === 'Keys' ? page.locator('main') : page
      const button = where.getByRole('button', { name: new RegExp(`^${opener}`) }).first()
      const dialog = page.locator('dialog[open]')
      await button.waitFor()
      for (const way of ['Escape', 'Close'] as const) {
        await button.focus()
        await page.keyboard.press('Enter')
        await dialog.waitFor()
        await until('the focus is in the dialog', async () => (await focusIn(page)) === 'the dialog')
        // The dialog keeps the focus in the same way when it is opened again.
        for (let pressed = 0; way === 'Escape' && pressed < 25; pressed++) {
          await page.keyboard.press('Tab')
          assert.notEqual(await focusIn(page), 'the page')
        }
        if (way === 'Close' && (await dialog.getByRole('button', { name: way }).count()) > 0) {
          await dialog.getByRole('button', { name: way }).focus()
          await page.keyboard.press('Enter')
        } else {
          await page.keyboard.press('Escape')
        }
        await dialog.waitFor({ state: 'detached' })
        const isFocused = () => button.evaluate((element) => element === document.activeElement)
        await until(`the focus is on the button after ${way}`, isFocused)
      }
      assert.deepEqual(problems, [], 'problems of the page')
    })
  }
})

const openCalls = async (t: TestContext) => {
  const seen = await open(t, `${path}/calls`)
  await seen.page.getByRole('row').getByText('Question 7?').waitFor()
  return seen
}

test('Enter and Space press the focused button, and after moving to a row Enter opens it', {
  skip,
}, async (t) => {
  const { page, problems } = await openCalls(t)
  const facets = page.getByRole('button', { name: 'Facets' })
  await facets.focus()
  await page.keyboard.press('Enter')
  await page.locator('.facets').waitFor()
  await page.keyboard.press(' ')
  await page.locator('.facets').waitFor({ state: 'detached' })
  await page.keyboard.press('j')
  await page.keyboard.press('Enter')
  await page.waitForURL('**/trace/**')
  assert.deepEqual(problems, [])
})

test('a clicked checkbox does not take keys from the list', { skip }, async (t) => {
  const { page } = await openCalls(t)
  await page.getByRole('checkbox', { name: 'Select heddle.chat.completions' }).first().click()
  await page.getByRole('toolbar').getByText('1 call', { exact: true }).waitFor()
  await page.keyboard.press('J')
  await page.getByRole('toolbar').getByText('2 calls', { exact: true }).waitFor()
})

test('Escape closes only the topmost dialog', { skip }, async (t) => {
  const { page, problems } = await openCalls(t)
  await page.keyboard.press('j')
  await page.keyboard.press('p')
  await page.waitForSelector('.peek .said.is-answer')
  await page.keyboard.press('a')
  await page.getByRole('dialog', { name: 'Add this call to a queue' }).waitFor()
  await page.keyboard.press('Control+k')
  await page.getByRole('dialog', { name: 'Go to' }).waitFor()
  await page.keyboard.press('Escape')
  await page.getByRole('dialog', { name: 'Go to' }).waitFor({ state: 'detached' })
  await page.getByRole('dialog', { name: 'Add this call to a queue' }).waitFor()
  await page.keyboard.press('Escape')
  await page.locator('dialog[open]').waitFor({ state: 'detached' })
  assert.equal(await page.locator('.peek').count(), 1)
  await page.keyboard.press('Escape')
  await page.locator('.peek').waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
})

test('a dialog that was closed by Escape opens again at once', { skip }, async (t) => {
  const { page, problems } = await open(t, `${path}/queues`)
  await page.getByRole('button', { name: 'New queue' }).click()
  const dialog = page.locator('dialog[open]')
  await dialog.waitFor()
  // Escape asks to close. The close event is a task of its own, so that none comes before the click.
  await page.evaluate(async () => {
    document.querySelector('dialog')?.requestClose()
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    document.querySelector<HTMLElement>('.queue-tools .main-button')?.click()
    await new Promise((resolve) => setTimeout(resolve, 50))
  })
  assert.equal(await dialog.count(), 1)
  assert.deepEqual(problems, [])
})

test('Escape right after a dialog closed goes to the screen', { skip }, async (t) => {
  const { page, problems } = await openCalls(t)
  await page.keyboard.press('j')
  await page.keyboard.press('p')
  await page.waitForSelector('.peek .said.is-answer')
  await page.keyboard.press('a')
  await page.getByRole('combobox', { name: 'Queue name' }).waitFor()
  // Within one task, so that no frame and no event of the dialog comes in between.
  const focused = await page.evaluate(() => {
    document.querySelector<HTMLDialogElement>('dialog[open]')?.close()
    const { activeElement } = document
    activeElement?.dispatchEvent(
      new KeyboardEvent('keydown', { key: 'Escape', bubbles: true, cancelable: true }),
    )
    return activeElement?.tagName
  })
  await page.locator('.peek').waitFor({ state: 'detached' })
  assert.equal(focused, 'INPUT')
  assert.deepEqual(problems, [])
})

test('a dialog whose fields come late takes the focus from nobody', { skip }, async (t) => {
  const { page, problems } = await open(t, `${path}/calls?peek=${idOf('chat', 3)}`)
  const datasets = Promise.withResolvers<void>()
  await page.route('**/objs/query', async (route) => {
    await datasets.promise
    await route.continue()
  })
  const dialog = page.getByRole('dialog', { name: 'Add this call to a dataset' })
  const close = dialog.getByRole('button', { name: 'Close' })
  await page.getByRole('button', { name: 'To dataset' }).press('Enter')
  await close.focus()
  datasets.resolve()
  await dialog.getByLabel('Dataset', { exact: true }).waitFor()
  assert.equal(await close.evaluate((element) => element === document.activeElement), true)
  await page.keyboard.press('Enter')
  await dialog.waitFor({ state: 'detached' })
  await page.getByRole('button', { name: 'To dataset' }).press('Enter')
  await until('the name of the new dataset has the focus', () =>
    dialog.getByLabel('Dataset name').evaluate((element) => element === document.activeElement),
  )
  assert.deepEqual(problems, [])
})

test('no keyboard shortcut works while the user types', { skip }, async (t) => {
  const { page, problems } = await openCalls(t)
  const text = '?jkxadvr.Nggopesicn1 /'
  for (const [at, field] of [
    [`${path}/calls`, 'Filter'],
    [`${path}/queues`, undefined],
    ['/ui/play?p=acme%2Fqa', 'Message 1'],
  ] as const) {
    await page.goto(`${served().address}${at}`)
    if (field === undefined) {
      await page.getByRole('button', { name: 'New queue' }).click()
      await page.getByLabel('Guidelines for reviewers').focus()
    } else {
      await page.getByLabel(field, { exact: true }).focus()
    }
    const address = page.url()
    const open = await page.locator('dialog[open]').count()
    await page.keyboard.type(text)
    assert.equal(await page.evaluate(() => (document.activeElement as HTMLInputElement).value), text)
    assert.equal(await page.locator('dialog[open]').count(), open)
    assert.equal(new URL(page.url()).pathname, new URL(address).pathname)
  }
  assert.deepEqual(problems, [])
})

/** Runs in the page: what has the focus, and how many sides of its ring are cut off by a box or the window. */
function ringOfFocus(): { name: string; cut: number } | undefined {
  const focused = document.activeElement
  if (focused === null || focused === document.body) return undefined
  const { outlineStyle, outlineWidth, outlineOffset } = getComputedStyle(focused)
  const name = `${focused.tagName} ${focused.ariaLabel ?? focused.textContent?.slice(0, 30)}`
  if (outlineStyle === 'none') return { name, cut: 4 }
  const reach = Number.parseFloat(outlineWidth) + Number.parseFloat(outlineOffset)
  const ring = focused.getBoundingClientRect()
  const seen = { left: 0, top: 0, right: innerWidth, bottom: innerHeight }
  for (let box = focused.parentElement; box; box = box.parentElement) {
    if (getComputedStyle(box).overflowX === 'visible') continue
    const { left, top, right, bottom } = box.getBoundingClientRect()
    seen.left = Math.max(seen.left, left)
    seen.top = Math.max(seen.top, top)
    seen.right = Math.min(seen.right, right)
    seen.bottom = Math.min(seen.bottom, bottom)
  }
  const cut = [
    seen.left - (ring.left - reach),
    seen.top - (ring.top - reach),
    ring.right + reach - seen.right,
    ring.bottom + reach - seen.bottom,
  ].filter((px) => px > 0.5)
  return { name, cut: cut.length }
}

test('Tab goes through every control, and the ring around it is seen', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/', { viewport: { width: 1024, height: 800 } })
  const found: string[] = []
  for (const at of [
    '/ui/',
    '/ui/me',
    `${path}/calls`,
    `${path}/calls?peek=${idOf('chat', 3)}`,
    `${path}/trace/${idOf('trace', 3)}`,
    `${path}/charts`,
    `${path}/agents`,
    `${path}/evals`,
    `${path}/datasets`,
    `${path}/queues/${served().queue}`,
    `${path}/data/capitals`,
    '/ui/play?p=acme%2Fqa',
  ]) {
    await page.goto(`${served().address}${at}`)
    await page.locator('main h1').waitFor({ state: 'attached' })
    await page.waitForFunction(() => !document.querySelector('main :is(.skeleton, [aria-busy=true])'))
    for (let pressed = 0; pressed < 80; pressed++) {
      await page.keyboard.press('Tab')
      const focus = await page.evaluate(ringOfFocus)
      if (focus === undefined) break
      // What is larger than its box is cut off where it is scrolled.
      if (focus.cut > 1) found.push(`${at}: ${focus.name}: ${focus.cut} sides`)
    }
  }
  assert.deepEqual(found, [])
  assert.deepEqual(problems, [])
})

test('calls are sorted, and the filter is reached after what stands above it, with Tab alone', {
  skip,
}, async (t) => {
  const { page, problems } = await openCalls(t)
  const isFocused = (name: string) =>
    page.evaluate((wanted) => document.activeElement?.textContent === wanted, name)
  await page.getByRole('button', { name: 'Live' }).focus()
  await page.keyboard.press('Tab')
  assert.equal(
    await page.getByLabel('Filter', { exact: true }).evaluate((field) => field === document.activeElement),
    true,
  )
  for (let pressed = 0; pressed < 8 && !(await isFocused('Latency')); pressed++)
    await page.keyboard.press('Tab')
  await page.keyboard.press('Enter')
  await page
    .getByRole('columnheader', { name: 'Latency' })
    .and(page.locator('[aria-sort=descending]'))
    .waitFor()
  assert.deepEqual(problems, [])
})
