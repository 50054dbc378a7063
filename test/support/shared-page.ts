import { keys } from './app.ts'
import { type Browser, collectProblems, type OpenedPage, openPage, type Page } from './browser.ts'
import type { Ending, Opening } from './page-app.ts'

const wide = { width: 1400, height: 800 }

/**
 * The tests of a file open one page in turn, signed in, and emptied after each: a new one starts a process and compiles
 * everything anew. Whoever opens with emulation, or on another server, gets a page that is new; so does who opens two at
 * once.
 */
export function sharingPage(started: () => { served: { address: string }; browser: Browser }) {
  const empty: Page[] = []
  return async (test: Ending, path: string, opening: Opening = {}): Promise<OpenedPage> => {
    const { served, browser } = started()
    const { key = keys.alice, at, viewport = wide, ...emulation } = opening
    const url = `${(at ?? served).address}${path}#key=${key}`
    if (at || !viewport || Object.keys(emulation).length > 0) {
      const alone = await openPage(browser, test, url, { viewport, ...emulation })
      await alone.page.waitForSelector('header.top')
      return alone
    }
    // A new one ends with the browser.
    const page = empty.pop() ?? (await openPage(browser, { after() {} }, 'about:blank')).page
    test.after(async () => {
      if (page.isClosed()) return page.context().close()
      await emptyPage(page, served.address)
      empty.push(page)
    })
    await page.setViewportSize(viewport)
    const problems = collectProblems(page, url)
    await page.goto(url)
    await page.waitForSelector('header.top')
    return { page, problems }
  }
}

/** Leaves nothing of a test in its page. */
async function emptyPage(page: Page, address: string): Promise<void> {
  const context = page.context()
  page.removeAllListeners()
  page.on('dialog', (dialog) => dialog.accept())
  await page.unrouteAll()
  for (const other of context.pages()) if (other !== page) await other.close()
  await context.setOffline(false)
  // Of the same origin and without a script: what is stored stays empty from here on.
  await page.goto(`${address}/health`)
  await page.evaluate(() => sessionStorage.clear())
  const session = await context.newCDPSession(page)
  await session.send('Storage.clearDataForOrigin', { origin: address, storageTypes: 'all' })
  await session.send('Page.resetNavigationHistory')
  await session.detach()
  await context.clearCookies()
  await context.unrouteAll()
  await page.mouse.up()
  await page.mouse.move(-1, -1)
  await page.emulateMedia({ media: null, colorScheme: 'light', reducedMotion: null, forcedColors: null })
  page.removeAllListeners()
}
