import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, test } from 'node:test'
import { keys } from '../support/app.ts'
import { collectProblems, noBrowser, openPage, type Page } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, idOf, pageTests, servePageApp, traceCalls, writeCalls } from '../support/page-app.ts'
import { assertAccessible, goNarrow, narrow } from './accessible.ts'

const skip = noBrowser
const calls = '/ui/acme/qa/calls'

// 200 questions, and a trace of three calls as the newest entry.
const { served, browser, open } = await pageTests(
  { after },
  {
    fill: (page) =>
      writeCalls(page, [
        ...Array.from({ length: 200 }, (_, index) =>
          chatCall(index, `Question ${index}?`, `Answer ${index}.`),
        ),
        ...traceCalls(300),
      ]),
  },
)

const rowText = (text: string) => `[role=row]:has-text("${text}")`
const treeText = (text: string) => `[role=treeitem]:has-text("${text}")`

test('a key signs in, a wrong key shows an error, and signing out forgets the key', { skip }, async (t) => {
  const { address } = served()
  const { page } = await openPage(browser(), t, `${address}/`)
  // It has the focus, so nothing needs to be clicked.
  await page.locator('#key:focus').waitFor()
  await page.keyboard.type('wrong-key-that-nobody-has')
  await page.keyboard.press('Enter')
  await page.getByRole('alert').getByText('These credentials are not accepted').waitFor()
  await page.getByLabel('Key', { exact: true }).fill(keys.alice)
  await page.keyboard.press('Enter')
  await page.getByRole('link', { name: project }).waitFor()
  await page.reload()
  await page.getByRole('link', { name: project }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.locator('#key:focus').waitFor()
  await page.reload()
  await page.getByLabel('Key', { exact: true }).waitFor()
})

test('the printed link signs in, and its key does not stay in the URL', { skip }, async (t) => {
  const { link, address } = served()
  const { page, problems } = await openPage(browser(), t, link)
  await page.getByRole('link', { name: project }).waitFor()
  assert.equal(page.url(), `${address}/ui/`)
  assert.deepEqual(problems, [])
})

test('a project is browsed with the keyboard alone: list, preview, trace, back', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/')
  await page.getByRole('link', { name: project }).focus()
  await page.keyboard.press('Enter')
  await page.waitForSelector(rowText('Question 199? → Answer 199.'))
  await page.getByText('201 calls').waitFor()

  await page.keyboard.press('j')
  await page.keyboard.press('j')
  await page.keyboard.press('p')
  await page.waitForSelector('aside.peek >> text=Question 199?')
  await page.keyboard.press('j')
  await page.waitForSelector('aside.peek >> text=Question 198?')
  await page.keyboard.press('Escape')
  await page.waitForSelector('aside.peek', { state: 'detached' })

  await page.keyboard.press('G')
  await page.waitForSelector(rowText('Question 0? → Answer 0.'))
  await page.keyboard.press('g')
  await page.keyboard.press('g')
  await page.waitForSelector(rowText('agent'))
  await page.keyboard.press('Enter')
  await page.waitForSelector(`${treeText('agent')}[aria-selected=true]`)
  assert.ok(
    page.url().endsWith(`/ui/acme/qa/trace/${idOf('trace', 300)}?call=${idOf('agent', 300)}`),
    page.url(),
  )
  await page.keyboard.press('l')
  await page.waitForSelector(`${treeText('search')}[aria-selected=true]`)
  await page.keyboard.press(']')
  await page.waitForSelector(`${treeText('answer')}[aria-selected=true]`)
  await page.keyboard.press('h')
  await page.keyboard.press('h')
  await page.waitForSelector(treeText('search'), { state: 'detached' })
  await page.goBack()
  await page.waitForSelector(rowText('Question 199?'))
  assert.deepEqual(problems, [])
})

test('going back restores the scroll position of the list without reloading the page', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, calls)
  await page.waitForSelector(rowText('Question 199?'))
  await page.evaluate(() => Object.assign(window, { isSame: true }))
  const grid = page.getByRole('grid')
  const top = () => grid.evaluate((element) => element.scrollTop)
  await grid.evaluate((element) => element.scrollTo({ top: 4_000 }))
  const row = page.locator(rowText('Question 100?'))
  await row.locator('.call-name').click()
  await page.waitForSelector(treeText('heddle.chat.completions'))
  for (const _ of [1, 2]) {
    await page.goBack()
    await page.waitForSelector(`${rowText('Question 100?')}[aria-current=true]`)
    assert.equal(await top(), 4_000)
    await page.goForward()
    await page.waitForSelector(treeText('heddle.chat.completions'))
  }
  // Another filter, or a visit through a link, begins at the top.
  await page.goBack()
  await page.waitForSelector(`${rowText('Question 100?')}[aria-current=true]`)
  await page.getByLabel('Filter', { exact: true }).fill('"question 1"')
  await page.getByText('111 calls').waitFor()
  assert.equal(await top(), 0)
  await page.locator(rowText('Question 199?')).locator('.call-name').click()
  await page.waitForSelector(treeText('heddle.chat.completions'))
  await page.getByRole('link', { name: 'Calls', exact: true }).click()
  await page.waitForSelector(rowText('Question 199?'))
  assert.equal(await top(), 0)
  assert.equal(await page.evaluate(() => 'isSame' in window), true)
  assert.deepEqual(problems, [])
})

test('a filter is kept in the URL, so that a link shows the same list', { skip }, async (t) => {
  const { page, problems } = await open(t, calls)
  await page.waitForSelector(rowText('Question 199?'))
  await page.keyboard.press('/')
  await page.keyboard.type('"question 17"')
  await page.getByText('11 calls').waitFor()
  const other = await open(t, new URL(page.url()).pathname + new URL(page.url()).search)
  await other.page.getByText('11 calls').waitFor()
  await other.page.getByLabel('Filter', { exact: true }).fill('"nothing says this"')
  await other.page.getByText('No calls match this filter').waitFor()
  await other.page.getByRole('button', { name: 'Show all calls' }).click()
  await other.page.getByText('201 calls').waitFor()
  await other.page.getByLabel('Roots only').uncheck()
  await other.page.getByText('203 calls').waitFor()
  await other.page.getByLabel('Filter', { exact: true }).fill('status:error')
  await other.page.waitForSelector(rowText('TimeoutError: too slow'))
  assert.deepEqual([...problems, ...other.problems], [])
})

test('feedback is given and removed on the view of the call', { skip }, async (t) => {
  const { page, problems } = await open(t, `${calls}?peek=${idOf('chat', 5)}`)
  await page.getByRole('tab', { name: 'Feedback' }).click()
  await page.getByRole('button', { name: 'Bad' }).click()
  await page.waitForSelector('.feedback-list >> text=👎')
  await page.getByLabel('A note on this call').fill('It forgot the date.')
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector('.feedback-list >> text=It forgot the date.')
  await page.getByRole('button', { name: 'Remove this feedback' }).first().click()
  await page.waitForSelector('.feedback-list >> text=👎', { state: 'detached' })
  const query = {
    $expr: { $eq: [{ $getField: 'weave_ref' }, { $literal: `weave:///${project}/call/${idOf('chat', 5)}` }] },
  }
  const { json } = await served().post('/feedback/query', { project_id: project, query })
  assert.deepEqual(
    json.result.map(({ payload }: { payload: unknown }) => payload),
    [{ note: 'It forgot the date.' }],
  )
  assert.deepEqual(problems, [])
})

test('P9: numbers are shown with the digits that were sent', { skip }, async (t) => {
  const text = JSON.stringify({
    batch: [chatCall(400, 'x', 'y', { inputs: { number: 'HERE' }, output: { one: 'THERE' } })],
  })
    .replace('"HERE"', '9007199254740993')
    .replace('"THERE"', '1.0')
  assert.equal((await served().post(`/v2/${project}/calls/complete`, text)).status, 200)
  const { page, problems } = await open(t, `${calls}?peek=${idOf('chat', 400)}`)
  await page.waitForSelector('.peek .json >> text=9007199254740993')
  await page.getByRole('tab', { name: 'Output' }).click()
  await page.waitForSelector('.peek .json >> text="1.0"')
  const [file] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Download' }).click(),
  ])
  assert.equal(file.suggestedFilename(), 'output.json')
  assert.equal(await readFile(await file.path(), 'utf8'), '{"one":1.0}')
  assert.deepEqual(problems, [])
})

test('a long list shows its length and all of its entries', { skip }, async (t) => {
  const many = Array.from({ length: 1_000 }, (_, index) => `item ${index}`)
  const batch = [chatCall(401, 'x', 'y', { inputs: { many } })]
  const { status, text } = await served().post(`/v2/${project}/calls/complete`, { batch })
  assert.equal(status, 200, text)
  const { page, problems } = await open(t, `${calls}?peek=${idOf('chat', 401)}`)
  await page.getByRole('tab', { name: 'Input' }).click()
  const tree = page.locator('.peek .json')
  await tree.getByText('100 of 1,000').waitFor()
  assert.equal(await tree.getByText('item 100', { exact: true }).count(), 0)
  await tree.getByRole('button', { name: 'Show 400' }).click()
  await tree.getByText('item 399', { exact: true }).waitFor()
  await tree.getByText('400 of 1,000').waitFor()
  await tree.getByRole('button', { name: 'Show all 1,000' }).click()
  await tree.getByText('item 999', { exact: true }).waitFor()
  assert.equal(await tree.getByRole('button', { name: 'Show all 1,000' }).count(), 0)
  assert.deepEqual(problems, [])
})

test('a link to a call opens its trace, also in the form that Weave prints', { skip }, async (t) => {
  for (const path of [`/acme/qa/r/call/${idOf('search', 300)}`, `/ui/acme/qa/call/${idOf('search', 300)}`]) {
    const { page, problems } = await open(t, path)
    await page.waitForSelector(`${treeText('search')}[aria-selected=true]`)
    await page.getByText('TimeoutError: too slow').first().waitFor()
    assert.deepEqual(problems, [])
  }
  const { page } = await open(t, '/ui/acme/qa/call/no-such-call')
  await page.getByText('Call not found').waitFor()
})

test('the navigation bar of the playground and the engine leads back to the project', { skip }, async (t) => {
  const { page, problems } = await open(t, calls)
  const bar = page.getByRole('navigation', { name: 'Project' })
  await page.getByRole('link', { name: 'Engine' }).click()
  await page.waitForURL('**/ui/engine')
  await bar.getByRole('link', { name: 'Charts' }).waitFor()
  await page.getByRole('link', { name: 'Playground' }).click()
  await page.waitForURL(`**/ui/play?p=${encodeURIComponent(project)}`)
  await page.reload()
  await bar.getByRole('link', { name: 'Calls' }).click()
  await page.waitForSelector(rowText('Question 199? → Answer 199.'))
  await page.getByRole('link', { name: 'Heddle', exact: true }).click()
  await page.getByRole('link', { name: project }).waitFor()
  assert.equal(await bar.count(), 0)
  assert.deepEqual(problems, [])
})

test('a pasted id is found', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/')
  await page.keyboard.press('Control+k')
  await page.keyboard.type(`weave:///${project}/call/${idOf('answer', 300)}`)
  await page.waitForSelector(`[role=option] >> text=Call ${idOf('answer', 300)}`)
  await page.keyboard.press('Enter')
  await page.waitForSelector(`${treeText('answer')}[aria-selected=true]`)
  await page.keyboard.press('?')
  await page.getByRole('heading', { name: 'Trace', exact: true, level: 3 }).waitFor()
  assert.deepEqual(problems, [])
})

/** The focused element right after the page has handled a key, before the browser draws. */
const focusAfter = (page: Page, key: { key: string; ctrlKey?: boolean }) =>
  page.evaluate(async (given) => {
    document.body.dispatchEvent(new KeyboardEvent('keydown', { ...given, bubbles: true, cancelable: true }))
    for (let turn = 0; turn < 20; turn++) await Promise.resolve()
    return document.activeElement?.getAttribute('aria-label')
  }, key)

test('letters typed right after a shortcut are not lost, however slowly the browser draws', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, calls)
  await page.waitForSelector(rowText('Question 199?'))
  assert.equal(await focusAfter(page, { key: 'k', ctrlKey: true }), 'Go to, or paste an ID')
  await page.keyboard.press('Escape')
  await page.getByRole('combobox', { name: 'Go to' }).waitFor({ state: 'detached' })
  assert.equal(await focusAfter(page, { key: '/' }), 'Filter')
  assert.deepEqual(problems, [])
})

test('Enter on an id works before the projects have loaded', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/me')
  const pressed = Promise.withResolvers<void>()
  await page.route('**/projects?*', async (route) => {
    await pressed.promise
    await route.continue()
  })
  await page.keyboard.press('Control+k')
  await page.keyboard.insertText(idOf('answer', 300))
  await page.keyboard.press('Enter')
  pressed.resolve()
  await page.waitForSelector(`${treeText('answer')}[aria-selected=true]`)
  assert.deepEqual(problems, [])
})

test('text pasted outside of a field is searched for', { skip }, async (t) => {
  const { page, problems } = await open(t, calls)
  await page.waitForSelector(rowText('Question 199?'))
  await page.evaluate(
    (text) => {
      const clipboardData = new DataTransfer()
      clipboardData.setData('text/plain', text)
      document.body.dispatchEvent(new ClipboardEvent('paste', { clipboardData, bubbles: true }))
    },
    ` ${idOf('answer', 300)}\n`,
  )
  await page.waitForSelector(`[role=option] >> text=Call ${idOf('answer', 300)}`)
  await page.keyboard.press('Enter')
  await page.waitForSelector(`${treeText('answer')}[aria-selected=true]`)
  assert.deepEqual(problems, [])
})

test('the key for the first row scrolls to it, also if it is active already', { skip }, async (t) => {
  const { page, problems } = await open(t, calls)
  await page.waitForSelector(rowText('agent'))
  await page.keyboard.press('j')
  await page.getByRole('grid').evaluate((element) => element.scrollTo({ top: 4_000 }))
  await page.waitForSelector(rowText('agent'), { state: 'detached' })
  await page.keyboard.press('g')
  await page.keyboard.press('g')
  await page.waitForSelector(rowText('agent'))
  assert.deepEqual(problems, [])
})

test('model output is plain text: nothing in it runs, loads or becomes an element', { skip }, async (t) => {
  const evil = [
    '<img src=x onerror="document.title=`taken`">',
    '<script>document.title="taken"</script>',
    '[click](javascript:document.title="taken")',
    '![leak](https://evil.example/pixel.png)',
    '<style>*{display:none}</style></textarea></pre>',
    '<svg onload=document.title="taken">',
    '\u202e\u0000{{constructor.constructor("document.title=1")()}}',
  ].join('\n\n')
  const { post } = await servedWith(evil)
  const path = `${calls}?peek=${idOf('evil')}`
  const { page, problems } = await open(t, path)
  await page.waitForSelector('.peek .chat >> text=onerror')
  for (const tab of ['Input', 'Output', 'Attributes', 'Feedback']) {
    await page.getByRole('tab', { name: tab }).click()
    await page.waitForSelector('.peek .tab-panel >> text=onerror')
  }
  await page.getByRole('link', { name: 'Open trace' }).click()
  await page.waitForSelector(treeText('onerror'))
  // Its name, as text: what runs would have put another title in its place.
  assert.match(await page.title(), /^Trace of <img src=x /)
  assert.equal(await page.locator('#page img:not([src^="/ui/"])').count(), 0)
  assert.equal(await page.locator('#page a[href^="javascript:"]').count(), 0)
  assert.deepEqual(problems, [])
  await post('/calls/delete', { project_id: project, call_ids: [idOf('evil')] })
})

test('a text that could freeze a browser is shown, and the page stays responsive', { skip }, async (t) => {
  const { post } = served()
  const heavy = ['_a'.repeat(40_000), '> '.repeat(2_900), `${'- '.repeat(500)}x`]
  const batch = heavy.map((text, index) => chatCall(600 + index, 'Write it.', text))
  await writeCalls(served(), batch)
  for (const index of heavy.keys()) {
    const { page, problems } = await open(t, `${calls}?peek=${idOf('chat', 600 + index)}`)
    await page.waitForSelector('.peek .said.is-answer')
    await page.keyboard.press('i')
    await page.waitForSelector('.peek .json >> text=Write it.')
    assert.deepEqual(problems, [])
  }
  await post('/calls/delete', {
    project_id: project,
    call_ids: heavy.map((_, index) => idOf('chat', 600 + index)),
  })
})

async function servedWith(evil: string) {
  const { post } = served()
  const call = chatCall(500, evil, evil, {
    id: idOf('evil'),
    display_name: evil.slice(0, 1000),
    exception: evil,
    attributes: { [evil]: evil },
    summary: { usage: { [evil]: { prompt_tokens: 1, completion_tokens: 1 } } },
  })
  const text = JSON.stringify({ batch: [call] }).replaceAll('\\u0000', '')
  const written = await post(`/v2/${project}/calls/complete`, text)
  assert.equal(written.status, 200, written.text)
  const note = evil.replaceAll('\0', '').slice(0, 1000)
  const ref = `weave:///${project}/call/${idOf('evil')}`
  const said = await post('/feedback/create', {
    project_id: project,
    weave_ref: ref,
    feedback_type: 'wandb.note.1',
    payload: { note },
  })
  assert.equal(said.status, 200, said.text)
  return { post }
}

test('every screen is accessible', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/', narrow)
  await page.getByRole('link', { name: project }).waitFor()
  await assertAccessible(page)
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').waitFor()
  await assertAccessible(page)
  const places = [
    calls,
    `${calls}?peek=${idOf('chat', 5)}`,
    `/ui/acme/qa/trace/${idOf('trace', 300)}?call=${idOf('search', 300)}`,
    '/ui/acme/none/calls',
  ]
  for (const path of places) {
    await goNarrow(page, served().address + path)
    await page.waitForSelector('[role=row]:has-text("Question"), [role=treeitem], .state')
    await assertAccessible(page)
  }
  assert.deepEqual(problems, [])
})

/** Runs in the page: the lowest contrast of the edge of a field to what is inside and around it (WCAG 2.2, 1.4.11). */
function lowestContrastOfFields(): number {
  const luminance = (color: string): number => {
    const [red = 0, green = 0, blue = 0] = (color.match(/[\d.]+/g) ?? []).map((text) => {
      const share = Number(text) / 255
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4
    })
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
  }
  const none = 'rgba(0, 0, 0, 0)'
  const groundOf = (element: Element | null): string => {
    const color = element ? getComputedStyle(element).backgroundColor : 'rgb(255, 255, 255)'
    return element && color === none ? groundOf(element.parentElement) : color
  }
  const contrasts = [...document.querySelectorAll('main :is(input:not([type=checkbox]), select, textarea)')]
    // The role of a message has no edge, but words.
    .filter((field) => field.checkVisibility() && getComputedStyle(field).borderColor !== none)
    .flatMap((field) => {
      const edge = luminance(getComputedStyle(field).borderColor)
      return [field, field.parentElement].map((ground) => {
        const around = luminance(groundOf(ground))
        return (Math.max(edge, around) + 0.05) / (Math.min(edge, around) + 0.05)
      })
    })
  return Math.min(...contrasts)
}

test('the edges of fields are seen in both themes', { skip }, async (t) => {
  for (const colorScheme of ['light', 'dark'] as const) {
    const { page } = await open(t, calls, { colorScheme })
    for (const path of [calls, '/ui/acme/qa/judges/new', '/ui/acme/qa/prompts?new=1', '/ui/play']) {
      await page.goto(`${served().address}${path}`)
      await page.locator('main :is(input:not([type=checkbox]), textarea)').first().waitFor()
      const contrast = await page.evaluate(lowestContrastOfFields)
      assert.ok(contrast >= 3 && contrast < 21, `${path}, ${colorScheme}: ${contrast}`)
    }
  }
})

test('seven tabs of one browser work, and share one session', { skip }, async (t) => {
  const { address } = served()
  const { page } = await open(t, calls)
  const context = page.context()
  for (let tab = 0; tab < 7; tab++) {
    const next = await context.newPage()
    const problems = collectProblems(next, address)
    await next.goto(address + calls)
    await next.waitForSelector(rowText('Question 199?'))
    assert.deepEqual(problems, [])
  }
  await page.getByRole('button', { name: 'Sign out' }).click()
  for (const tab of context.pages()) await tab.getByLabel('Key', { exact: true }).waitFor()
})

test('a tab says that somebody else has signed in in another one, and goes on only as asked', {
  skip,
}, async (t) => {
  const { address, link } = served()
  const { page } = await open(t, `${calls}?q=question`)
  const other = await page.context().newPage()
  await other.goto(link)
  await other.waitForSelector('header.top')
  // The same user is not told, and goes on with the session that is new.
  await page.reload()
  await page.locator('.who:has-text("alice")').waitFor()
  await other.goto('about:blank')
  await other.goto(`${address}/ui/#key=${keys.bob}`)
  await other.locator('.who:has-text("bob")').waitFor()
  const told = page.getByRole('alert').filter({ hasText: 'bob has signed in in another tab' })
  await told.waitFor()
  // A refusal does not sign out, and a third tab does not make this one bob's.
  await page.getByLabel('Roots only').uncheck()
  await page.getByRole('button', { name: 'Try again' }).waitFor()
  const third = await page.context().newPage()
  await third.goto(`${address}/ui/`)
  await third.locator('.who:has-text("bob")').waitFor()
  await page.locator('.who:has-text("alice")').waitFor()
  await assertAccessible(page)
  await told.getByRole('button', { name: 'Reload as bob' }).click()
  await page.locator('.who:has-text("bob")').waitFor()
  assert.equal(await told.count(), 0)
  assert.equal(new URL(page.url()).searchParams.get('q'), 'question')
  // Whoever signs out of a tab that is told so leaves the others signed in.
  await other.goto('about:blank')
  await other.goto(link)
  await other.locator('.who:has-text("alice")').waitFor()
  await page.getByRole('button', { name: 'Reload as alice' }).waitFor()
  await page.getByRole('button', { name: 'Sign out' }).click()
  await page.getByLabel('Key', { exact: true }).waitFor()
  await other.getByRole('link', { name: 'Heddle' }).click()
  await other.getByRole('link', { name: project }).waitFor()
})

test('new calls appear, and a scrolled list keeps its position', { skip }, async (t) => {
  const at = await servePageApp(t)
  const write = (index: number) => writeCalls(at, [chatCall(index, `Question ${index}?`, 'yes')])
  for (let index = 0; index < 60; index++) await write(index)
  const { page, problems } = await open(t, calls, { at })
  await page.waitForSelector(rowText('Question 59?'))
  await write(60)
  await page.waitForSelector(rowText('Question 60?'))
  const grid = page.getByRole('grid')
  await grid.evaluate((element) => element.scrollTo({ top: 800 }))
  const before = await grid.evaluate((element) => element.scrollTop)
  await write(61)
  await page.getByRole('button', { name: '1 new' }).waitFor()
  assert.equal(await grid.evaluate((element) => element.scrollTop), before)
  await page.getByRole('button', { name: '1 new' }).click()
  await page.waitForSelector(rowText('Question 61?'))
  assert.deepEqual(problems, [])
})

test('an expired session leads to the sign-in form', { skip }, async (t) => {
  const { database } = served()
  const { page } = await open(t, calls)
  await page.waitForSelector(rowText('Question 199?'))
  // Opening a session at this time removes all others, as they have expired.
  await database.write('openPageSession', {
    session: { hash: 'later', half_hash: 'x', key_hash: 'x', expires_at: Number.MAX_SAFE_INTEGER },
    now: Number.MAX_SAFE_INTEGER - 1,
  })
  await page.reload()
  await page.getByLabel('Key', { exact: true }).waitFor()
  await page.getByText('Your session has ended.').waitFor()
})

test('the page works without a model and says that there is none', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/')
  await page.getByText('No model is served; the record is available.').waitFor()
  assert.deepEqual(problems, [])
})
