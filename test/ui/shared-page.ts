import { keys } from '../support/app.ts'
import { collectProblems, openPage, type Page } from '../support/browser.ts'
import type { PageTests } from '../support/page-app.ts'

const wide = { width: 1400, height: 800 }

/**
 * The tests of a file open one page in turn, emptied after each: a new one starts a process and compiles everything anew.
 * Whoever opens with emulation, or on another server, gets a page that is new; so does who opens two at once.
 */
export function sharingPage<Filled>(tests: PageTests<Filled>): PageTests<Filled> {
  const empty: Page[] = []
  async function open(...[test, path, opening = {}]: Parameters<typeof tests.open>) {
    const { key = keys.alice, at, viewport = wide, ...emulation } = opening
    if (at || !viewport || Object.keys(emulation).length > 0) return tests.open(test, path, opening)
    const { address } = tests.served()
    const url = `${address}${path}#key=${key}`
    const page = empty.pop() ?? (await newPage())
    test.after(async () => {
      if (page.isClosed()) return page.context().close()
      await emptyPage(page, address)
      empty.push(page)
    })
    await page.setViewportSize(viewport)
    const problems = collectProblems(page, url)
    await page.goto(url)
    await page.waitForSelector('header.top')
    return { page, problems }
  }
  /** It ends with the browser. */
  const newPage = async () => (await openPage(tests.browser(), { after() {} }, 'about:blank')).page
  return { ...tests, open }
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
