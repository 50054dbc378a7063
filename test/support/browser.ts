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

export async function openPage(
  browser: Browser,
  t: Ending,
  url: string,
  options: BrowserContextOptions = {},
): Promise<OpenedPage> {
  const context = await browser.newContext({ viewport: { width: 1400, height: 800 }, ...options })
  t.after(() => context.close())
  // Tests wait for a state. How long it takes on a busy machine does not matter.
  context.setDefaultTimeout(120_000)
  const page = await context.newPage()
  const problems = collectProblems(page, url)
  await page.goto(url)
  return { page, problems }
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
