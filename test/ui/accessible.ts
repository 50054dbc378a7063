import assert from 'node:assert/strict'
import axe from 'axe-core'
import type { Page } from 'playwright-core'

/** How a page is opened whose accessibility is asserted: narrow, and so it is widened as well. */
export const narrow = { viewport: { width: 360, height: 800 } }

/**
 * Asserts of what is on the screen that axe finds nothing in it and that it does not scroll horizontally: on a narrow and
 * a wide screen, in both themes. The screen is left wide.
 */
export async function assertAccessible(page: Page): Promise<void> {
  await page.evaluate(axe.source)
  const found: string[] = []
  for (const width of [narrow.viewport.width, 1400]) {
    await page.setViewportSize({ ...narrow.viewport, width })
    for (const colorScheme of ['light', 'dark'] as const) {
      await page.emulateMedia({ colorScheme })
      for (const problem of await page.evaluate(findProblems)) {
        found.push(`${page.url()}, ${colorScheme}, ${width} px: ${problem}`)
      }
    }
  }
  assert.deepEqual(found, [])
}

/** Runs in the page: one line for each kind of violation. axe's own driver would send every element that passes as well. */
async function findProblems(): Promise<string[]> {
  // What depends on the width or the theme is drawn within two frames.
  for (const _ of [1, 2]) await new Promise(requestAnimationFrame)
  const { axe } = window as unknown as { axe: typeof import('axe-core') }
  const rules = { 'target-size': { enabled: true } }
  const { violations } = await axe.run({ resultTypes: ['violations'], rules })
  const found = violations.map(({ id, help, nodes }) => `${id}: ${help}: ${nodes[0]?.html.slice(0, 200)}`)
  if (document.documentElement.scrollWidth > innerWidth) found.push('it scrolls horizontally')
  return found
}
