import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { maxAnswers } from '../../ui/server/answer-slots.ts'
import { collectProblems, noBrowser, type Page } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { chatCall, pageTests, writeCalls } from '../support/page-app.ts'
import { prefilled, scriptedBackend, tokens } from '../support/scripted-backend.ts'
import { until } from '../support/wait.ts'

const skip = noBrowser
const backend = scriptedBackend()
const { served, open } = await pageTests(
  { after },
  { backend, fill: (at) => writeCalls(at, [chatCall(0, 'Question 0?', 'yes')]) },
)

const playground = `/ui/play?p=${encodeURIComponent(project)}`
const held = /Waiting for an answer in another tab/

/** Answers that are written until the test lets one of them end. */
function openAnswers() {
  const goOn: (() => void)[] = []
  backend.script = async function* (request, signal) {
    yield prefilled(request)
    yield tokens('Well, ', request)
    await new Promise<void>((resolve, reject) => {
      goOn.push(resolve)
      signal.addEventListener('abort', () => reject(signal.reason))
    })
    yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
  }
  return async () => {
    await until('an answer is being written', () => goOn.length > 0)
    goOn.shift()?.()
  }
}

async function ask(tab: Page, question: string) {
  await tab.getByLabel('Message 1', { exact: true }).fill(question)
  await tab.keyboard.press('Control+Enter')
}

test('answers in six tabs leave a connection for a seventh, and waiting questions are sent without a click', {
  skip,
}, async (t) => {
  const endOne = openAnswers()
  const { page, problems } = await open(t, playground)
  const tabs = [page]
  while (tabs.length < 6) {
    const next = await page.context().newPage()
    problems.push(...collectProblems(next, served().address))
    await next.goto(served().address + playground)
    await next.waitForSelector('.play')
    tabs.push(next)
  }
  for (const [index, tab] of tabs.entries()) {
    await ask(tab, `Question of tab ${index}?`)
    await (index < maxAnswers ? tab.waitForSelector('.answer >> text=Well,') : tab.getByText(held).waitFor())
  }
  assert.equal(backend.asked.length, maxAnswers)

  const seventh = await page.context().newPage()
  await seventh.goto(`${served().address}/ui/${project}/calls`)
  await seventh.waitForSelector('[role=row]:has-text("Question 0?")')

  const [, , , fourth, fifth, sixth] = tabs as [Page, Page, Page, Page, Page, Page]
  // A question that is stopped while it waits never reaches the server.
  await fourth.getByLabel('Answer').getByRole('button', { name: 'Stop' }).click()
  await fourth.getByText(/^stopped/).waitFor()
  await endOne()
  await page.getByText(/^success/).waitFor()
  await fifth.waitForSelector('.answer >> text=Well,')
  assert.equal(await sixth.getByText(held).count(), 1)
  assert.equal(backend.asked.length, maxAnswers + 1)
  // A tab that is closed frees its place in the queue.
  await fifth.close()
  await sixth.waitForSelector('.answer >> text=Well,')
  for (const tab of tabs.slice(1, maxAnswers)) {
    await endOne()
    await tab.getByText(/^success/).waitFor()
  }
  await sixth.getByLabel('Answer').getByRole('button', { name: 'Stop' }).click()
  await backend.idle()
  assert.deepEqual(problems, [])
})

test('comparisons of two settings in two tabs wait for each other without a deadlock', {
  skip,
}, async (t) => {
  const endOne = openAnswers()
  const before = backend.asked.length
  const { page } = await open(t, `${playground}&a={}&b=${encodeURIComponent('{"temperature":0.5}')}`)
  const other = await page.context().newPage()
  await other.goto(page.url())
  await other.waitForSelector('.play')
  await ask(page, 'First?')
  await until('both are asked', () => backend.asked.length === before + 2)
  await ask(other, 'Second?')
  await other.getByText(held).waitFor()
  for (let ended = 0; ended < 4; ended++) await endOne()
  for (const tab of [page, other])
    await tab
      .getByText(/^success/)
      .nth(1)
      .waitFor()
  assert.equal(backend.asked.length, before + 4)
})
