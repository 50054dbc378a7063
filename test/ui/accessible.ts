import assert from 'node:assert/strict'
import { globSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import type { RunOptions } from 'axe-core'
import type { Page } from 'playwright-core'

/** How a page is opened whose accessibility is asserted: narrow, and so it is widened as well. */
export const narrow = { viewport: { width: 360, height: 800 } }

/** A third of the text of `axe.source`, which every page must compile anew. */
const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8')

/**
 * Loads another address in a page that is narrow again. A page of its own costs twice as much: it starts a process, and
 * compiles everything anew.
 */
export async function goNarrow(page: Page, url: string): Promise<void> {
  await page.setViewportSize(narrow.viewport)
  await page.goto(url)
}

type ThemeRules = 'every rule' | 'rules of colours'

/**
 * Asserts of what is on the screen that axe finds nothing in it and that it does not scroll horizontally: on a narrow and
 * a wide screen, in both themes. The screen is left wide.
 */
export async function assertAccessible(page: Page): Promise<void> {
  assertThemesDifferInColours()
  await loadAxe(page)
  const found: string[] = []
  for (const width of [narrow.viewport.width, 1400]) {
    await page.setViewportSize({ ...narrow.viewport, width })
    for (const [colorScheme, rules] of themes) {
      await page.emulateMedia({ colorScheme })
      for (const problem of await page.evaluate(findProblems, rules)) {
        found.push(`${page.url()}, ${colorScheme}, ${width} px: ${problem}`)
      }
    }
  }
  assert.deepEqual(found, [])
}

/** What axe finds in the colours of the dark theme. The page is left in it. */
export async function problemsInTheDark(page: Page): Promise<string[]> {
  await loadAxe(page)
  await page.emulateMedia({ colorScheme: 'dark' })
  return page.evaluate<string[], ThemeRules>(findProblems, 'rules of colours')
}

async function loadAxe(page: Page): Promise<void> {
  if (!(await page.evaluate(() => 'axe' in window))) await page.evaluate(axeSource)
}

const themes: ['light' | 'dark', ThemeRules][] = [
  ['light', 'every rule'],
  ['dark', 'rules of colours'],
]

let areCompared = false

/**
 * What looks different in the dark theme comes from `light-dark()` of CSS, which only a colour can be. So a rule that is
 * not about colours finds the same in both.
 */
function assertThemesDifferInColours(): void {
  if (areCompared) return
  const page = new URL('../../ui/', import.meta.url)
  for (const path of globSync('**/*.{css,html,ts,tsx}', { cwd: page })) {
    const text = readFileSync(new URL(path, page), 'utf8')
    assert.ok(!text.includes('prefers-color-scheme'), `ui/${path}: colours of themes are light-dark(…)`)
  }
  areCompared = true
}

/** Runs in the page: one line for each kind of violation. axe's own driver would send every element that passes as well. */
async function findProblems(which: ThemeRules): Promise<string[]> {
  // What depends on the width or the theme is drawn within two frames.
  for (const _ of [1, 2]) await new Promise(requestAnimationFrame)
  const { axe } = window as unknown as { axe: typeof import('axe-core') }
  const ofColours: RunOptions = {
    runOnly: { type: 'rule', values: ['color-contrast', 'link-in-text-block'] },
  }
  const ofAll: RunOptions = { rules: { 'target-size': { enabled: true } } }
  const rules = which === 'every rule' ? ofAll : ofColours
  const { violations } = await axe.run({ resultTypes: ['violations'], ...rules })
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]?.html.slice(0, 200)}`)
  if (document.documentElement.scrollWidth > innerWidth) found.push('it scrolls horizontally')
  return found
}
