import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { keys } from '../support/app.ts'
import { noBrowser } from '../support/browser.ts'
import { pageTests } from '../support/page-app.ts'
import { scriptedBackend } from '../support/scripted-backend.ts'
import { narrow, problemsInTheDark } from './accessible.ts'
import { fillEveryScreen } from './every-screen.ts'

const { served, open } = await pageTests(
  { after },
  { backend: scriptedBackend(), fill: async (page) => ({ screens: await fillEveryScreen(page) }) },
)

/** Runs in the page: what is cut off, squeezed or covered on the screen, one line for each. */
function findLayoutFaults(): string[] {
  const found: string[] = []
  const about = (element: Element) =>
    `${element.tagName} .${element.className} ${element.textContent?.slice(0, 40)}`
  const isShown = (element: Element) => element.checkVisibility() && element.getBoundingClientRect().width > 1

  if (document.documentElement.scrollWidth > innerWidth) found.push('the page scrolls horizontally')
  const lines = [...document.querySelectorAll('.top-places a')]
    .filter(isShown)
    .map((link) => Math.round(link.getBoundingClientRect().top))
  if (new Set(lines).size > 1) found.push('the navigation has several lines')
  if (document.querySelectorAll('h1').length !== 1) found.push('there is not one h1')
  const ids = [...document.querySelectorAll('[id]')].map(({ id }) => id)
  const repeated = ids.filter((id, at) => ids.indexOf(id) < at)
  if (repeated.length > 0) found.push(`ids are not unique: ${repeated}`)

  /** The right edge of what is seen of it; none where a text ends in an ellipsis. */
  const edgeOf = (element: Element): number => {
    let edge = innerWidth
    for (let box = element.parentElement; box; box = box.parentElement) {
      const { overflowX, textOverflow, display, clipPath } = getComputedStyle(box)
      if (overflowX === 'visible' || display === 'contents') continue
      if (textOverflow === 'ellipsis' || clipPath !== 'none') return Number.POSITIVE_INFINITY
      edge = Math.min(edge, box.getBoundingClientRect().right)
    }
    return edge
  }
  // The columns of a dataset and, on a narrow screen, those of a comparison are as many as the user has.
  const ofUser = innerWidth < 1024 ? '.rows-grid, .compare-grid' : '.rows-grid'
  for (const element of document.querySelectorAll(
    ':is(main, dialog) :is(h1, h2, th, td, [role=gridcell], [role=columnheader], button, a, label, select)',
  )) {
    if (!isShown(element) || element.closest(`${ofUser}, .top-places, aside`)) continue
    const excess = Math.round(element.getBoundingClientRect().right - edgeOf(element))
    if (excess > 1) found.push(`cut off by ${excess} px: ${about(element)}`)
  }
  for (const element of document.querySelectorAll('main *')) {
    const { clientHeight, scrollHeight } = element
    const isScrolled = ['auto', 'scroll'].includes(getComputedStyle(element).overflowY)
    if (isScrolled && isShown(element) && clientHeight < 40 && scrollHeight > clientHeight + 4)
      found.push(`squeezed to ${clientHeight} of ${scrollHeight} px: ${about(element)}`)
  }
  // Where a row is a card, the name of a column stands before its value.
  for (const cell of document.querySelectorAll('td[data-label]')) {
    const { display, paddingLeft } = getComputedStyle(cell)
    if (display === 'table-cell' || !isShown(cell)) continue
    const label = getComputedStyle(cell, '::before')
    const px = Number.parseFloat
    if (px(label.width) > px(paddingLeft) || px(label.height) > cell.clientHeight)
      found.push(`the label covers something: ${cell.getAttribute('data-label')}: ${about(cell)}`)
  }
  for (const row of document.querySelectorAll('.list-table tr')) {
    const cells = [...row.querySelectorAll('td[data-label]')].filter(isShown)
    const edges = cells.map(
      (cell) => cell.getBoundingClientRect().left + Number.parseFloat(getComputedStyle(cell).paddingLeft),
    )
    const isCard = cells.some((cell) => getComputedStyle(cell).display !== 'table-cell')
    if (isCard && new Set(edges.map(Math.round)).size > 2) found.push(`a card is ragged: ${about(row)}`)
  }
  // What a finger has to hit; a link in a text is as high as its line.
  const controls =
    ':is(button, .button, select, textarea, input:not([type=checkbox], [type=radio]), summary, .brand, label:has(> [type=checkbox]))'
  for (const control of innerWidth < 736 ? document.querySelectorAll(`:is(header, main) ${controls}`) : []) {
    const { height } = control.getBoundingClientRect()
    const isOfHead = control.closest('.grid-head, thead, .json-toggle, [role=tree]') !== null
    if (isShown(control) && height < 44 && !isOfHead)
      found.push(`only ${Math.round(height)} px high: ${about(control)}`)
  }
  // A word or a number that does not fit is broken anywhere.
  const texts = document.createTreeWalker(document.querySelector('main') as Element, NodeFilter.SHOW_TEXT)
  for (let node = texts.nextNode(); node; node = texts.nextNode()) {
    const box = node.parentElement?.closest('th, td, [role=columnheader], button')
    const isClipped = [node.parentElement, node.parentElement?.closest('thead')].some(
      (part) => part && part.getBoundingClientRect().width <= 2,
    )
    const text = node.textContent ?? ''
    if (!box || !isShown(box) || isClipped || text.length > 20 || /[\s_-]/.test(text)) continue
    const range = document.createRange()
    range.selectNodeContents(node)
    if (range.getClientRects().length > 1) found.push(`a word is broken: ${text} in ${about(box)}`)
  }
  for (const box of document.querySelectorAll('input[type=checkbox]')) {
    const { width, height } = box.getBoundingClientRect()
    if (isShown(box) && Math.abs(width - height) > 1) found.push(`a box is squeezed: ${width} x ${height} px`)
  }
  for (const name of document.querySelectorAll('td:is(:first-child, .run-name) :is(a, .strong)')) {
    const range = document.createRange()
    range.selectNodeContents(name)
    const tops = new Set([...range.getClientRects()].map(({ top }) => Math.round(top)))
    if (isShown(name) && tops.size > (innerWidth < 736 ? 3 : 2))
      found.push(`a name takes ${tops.size} lines: ${about(name)}`)
  }
  for (const line of document.querySelectorAll('main :is(.grid-row, h1, .agent-asked, .cell-input)'))
    if (line.textContent?.includes('**')) found.push(`Markdown on a line: ${about(line)}`)
  // Whoever points at a text that is cut off can read it.
  for (const text of document.querySelectorAll('main :not(.rows-grid *)')) {
    const isCut =
      text.scrollWidth > text.clientWidth + 1 && getComputedStyle(text).textOverflow === 'ellipsis'
    if (isCut && isShown(text) && !text.closest('[title]') && !text.querySelector('[title]'))
      found.push(`cut off without a title: ${about(text)}`)
  }
  // Tab goes where the eye does.
  for (const moved of document.querySelectorAll(
    ':is(header, main) :is(a, button, input, select, :has(:is(a, button, input, select)))',
  )) {
    const { readingFlow } = getComputedStyle(moved.parentElement as Element) as { readingFlow?: string }
    if (getComputedStyle(moved).order !== '0' && readingFlow === 'normal')
      found.push(`Tab goes elsewhere: ${about(moved)}`)
  }
  for (const axis of document.querySelectorAll('.chart-ends'))
    if (isShown(axis) && axis.clientHeight > 24) found.push('times of a chart take several lines')
  for (const bars of document.querySelectorAll('.histogram'))
    if (isShown(bars) && bars.clientWidth > 420) found.push(`a histogram is ${bars.clientWidth} px wide`)
  // On a phone, what is above a list leaves it most of the screen.
  const list = document.querySelector('main :is(.calls-grid, .rows-grid, .turns)')
  const above = (list?.getBoundingClientRect().top ?? 0) - (document.querySelector('main')?.offsetTop ?? 0)
  // The name of the dataset takes two lines of it.
  if (above > (list?.matches('.rows-grid') ? 220 : 160)) found.push(`the head takes ${Math.round(above)} px`)
  const filter = document.querySelector('.filter-field')
  const room = filter?.getBoundingClientRect().width ?? 0
  if (filter && isShown(filter) && room < (filter.closest('.calls') && innerWidth > 1024 ? 420 : 250))
    found.push(`the filter has ${Math.round(room)} px`)
  for (const [form, parts] of [
    ['.run-settings', 'label'],
    ['.audit-filter', innerWidth < 736 ? 'input' : 'none'],
  ] as const) {
    const lefts = [...document.querySelectorAll(`${form} ${parts}`)]
      .filter(isShown)
      .map((part) =>
        Math.round(
          part.getBoundingClientRect().left - (part.closest(form) as Element).getBoundingClientRect().left,
        ),
      )
    if (new Set(lefts).size > 1) found.push(`a form is ragged: ${form}: ${lefts}`)
  }
  for (const cell of document.querySelectorAll('main td')) {
    const { display, verticalAlign } = getComputedStyle(cell)
    if (display === 'table-cell' && verticalAlign === 'middle' && cell.clientHeight > 90 && isShown(cell))
      found.push(`far below the top of its row: ${about(cell)}`)
    const { left } = cell.getBoundingClientRect()
    if (isShown(cell) && left + Number.parseFloat(getComputedStyle(cell).paddingLeft) < 8)
      found.push(`text at the edge of the screen: ${about(cell)}`)
  }
  return found
}

test('on no screen is anything cut off, squeezed, covered or unreadable in the dark, from 360 to 1440 px', {
  skip: noBrowser,
}, async (t) => {
  const { page, problems } = await open(t, '/ui/', { key: keys.root, ...narrow })
  const found: string[] = []
  for (const path of served().screens) {
    await page.setViewportSize(narrow.viewport)
    await page.goto(`${served().address}${path}`)
    await page.locator('main h1').waitFor({ state: 'attached' })
    await page.waitForFunction(() => !document.querySelector('main :is(.skeleton, [aria-busy=true])'))
    for (const width of [360, 768, 1024, 1440]) {
      await page.setViewportSize({ width, height: 800 })
      await page.evaluate(
        () => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn))),
      )
      for (const fault of (await page.evaluate(findLayoutFaults)).slice(0, 3))
        found.push(`${path}, ${width} px: ${fault}`)
    }
    for (const fault of await problemsInTheDark(page)) found.push(`${path}, dark: ${fault}`)
  }
  assert.deepEqual(found, [])
  assert.deepEqual(problems, [])
})
