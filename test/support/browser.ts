import { existsSync } from 'node:fs'
import { type Browser, type BrowserContextOptions, chromium, type Page } from 'playwright-core'

export type { Browser, Page }

const places = ['/usr/bin/chromium', '/usr/bin/chromium-browser', '/usr/bin/google-chrome']
const executablePath = [process.env.HEDDLE_TEST_BROWSER, ...places].find((path) => path && existsSync(path))

const missing = 'there is no Chromium here: `apt-get install chromium`, or name one in HEDDLE_TEST_BROWSER'

/** Why tests of the page are skipped; false if they run. */
export const noBrowser = executablePath === undefined ? missing : false
if (noBrowser && process.env.CI) throw new Error(noBrowser)

interface Ending {
  after(close: () => Promise<void>): void
}

/** One browser for all tests of a file. */
export async function openBrowser(t: Ending): Promise<Browser> {
  const browser = await chromium.launch({ executablePath: executablePath as string, args: ['--no-sandbox'] })
  t.after(() => browser.close())
  return browser
}

export interface OpenedPage {
  page: Page
  /** Errors that the browser reported, and requests to other hosts. It must be empty at the end. */
  problems: string[]
}

/** Pages that a test has left, by the options that they were opened with. */
const leftPages = new WeakMap<Browser, Map<string, Page[]>>()

function leftPagesOf(browser: Browser, options: BrowserContextOptions): Page[] {
  const pages = leftPages.get(browser) ?? new Map<string, Page[]>()
  leftPages.set(browser, pages)
  const name = JSON.stringify(options)
  const left = pages.get(name) ?? []
  pages.set(name, left)
  return left
}

export interface PageOptions extends BrowserContextOptions {
  /** For a test that changes what cannot be taken back from a page, such as its clock or its scripts. */
  isOwn?: boolean
}

/**
 * A page as if it were in a browser of its own: nothing is stored and nothing is intercepted. A new process of Chromium
 * takes as long as most tests, so it is one that another test has left, if there is one.
 */
export async function openPage(
  browser: Browser,
  t: Ending,
  url: string,
  { isOwn = false, ...options }: PageOptions = {},
): Promise<OpenedPage> {
  const left = leftPagesOf(browser, options)
  const page = (isOwn ? undefined : left.pop()) ?? (await newPage(browser, options))
  t.after(async () => {
    const isLeft = !isOwn && (await empty(page, options).then(yes, no))
    if (isLeft) left.push(page)
    else await page.context().close()
  })
  const problems = collectProblems(page, url)
  await page.goto(url)
  return { page, problems }
}

const viewport = { width: 1400, height: 800 }

async function newPage(browser: Browser, options: BrowserContextOptions): Promise<Page> {
  const context = await browser.newContext({ viewport, ...options })
  // Tests wait for a state. How long it takes on a busy machine does not matter.
  context.setDefaultTimeout(120_000)
  return context.newPage()
}

const yes = () => true
const no = () => false

/** Removes from the page what its test has stored, changed or listened to. Fails if the page can do no more. */
async function empty(page: Page, options: BrowserContextOptions): Promise<void> {
  const context = page.context()
  for (const other of context.pages()) if (other !== page) await other.close()
  const { origin, protocol } = new URL(page.url())
  const isOnWeb = protocol === 'http:'
  await page.unrouteAll({ behavior: 'ignoreErrors' })
  await context.setOffline(false)
  if (isOnWeb) {
    // What the page stores as it is left is removed as well. Its server may have ended.
    await page.route('**/*', (route) => route.fulfill({ contentType: 'text/html', body: '' }))
    await page.goto(origin)
    await page.evaluate(() => sessionStorage.clear())
    await page.unrouteAll({ behavior: 'ignoreErrors' })
  }
  await page.goto('about:blank')
  for (const event of ['console', 'dialog', 'pageerror', 'request'] as const) page.removeAllListeners(event)
  if (isOnWeb) {
    const session = await context.newCDPSession(page)
    await session.send('Storage.clearDataForOrigin', { origin, storageTypes: 'all' })
    await session.detach()
  }
  await context.clearCookies()
  await context.setOffline(options.offline ?? false)
  await page.emulateMedia({ colorScheme: null })
  await page.setViewportSize(options.viewport ?? viewport)
}

/** Collects everything that a user would find in the console. */
export function collectProblems(page: Page, url: string): string[] {
  const problems: string[] = []
  const { host } = new URL(url)
  page.on('console', (message) => {
    if (message.type() === 'error' || message.type() === 'warning') problems.push(message.text())
  })
  page.on('pageerror', (error) => problems.push(error.message))
  page.on('request', (request) => {
    const to = new URL(request.url())
    if (to.protocol.startsWith('http') && to.host !== host) problems.push(`asked ${to.host}`)
  })
  return problems
}
