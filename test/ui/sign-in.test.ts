import assert from 'node:assert/strict'
import { after, type TestContext, test } from 'node:test'
import { serveWithIssuers } from '../live/sign-in/heddle.ts'
import { startProvider } from '../live/sign-in/real-provider.ts'
import { noBrowser, openBrowser } from '../support/browser.ts'
import { buildPage } from '../support/built-page.ts'
import { assertAccessible } from './accessible.ts'

const skip = noBrowser
if (!skip) buildPage()

process.env.SECRET_OF_HEDDLE = 'the-secret-of-heddle-there'

async function served(t: TestContext) {
  const provider = await startProvider({ after })
  const acme = {
    name: 'acme',
    title: 'Acme',
    issuer: provider.issuer,
    client_id: provider.client.id,
    client_secret: { env: 'SECRET_OF_HEDDLE' },
    scopes: ['groups'],
    sign_up: true,
    grants: ['staff=editor@acme'],
  }
  const heddle = await serveWithIssuers(t, [acme], {
    path: '/team/heddle',
    settings: { HEDDLE_KEY_SIGN_IN: 'off' },
  })
  await provider.tell(heddle.publicUrl)
  provider.claims.set('anna', { preferred_username: 'anna', groups: ['staff'] })
  return { provider, ...heddle }
}

test('a person signs in with an issuer under a path, goes on where it was, and signs out of both', {
  skip,
}, async (t) => {
  const { provider, publicUrl } = await served(t)
  const browser = await openBrowser(t)
  const page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(120_000)
  const errors: string[] = []
  page.on('pageerror', (error) => errors.push(error.message))
  await page.goto(`${publicUrl}/ui/acme/qa/calls?q=status%3Aerror`)
  const button = page.getByRole('link', { name: 'Sign in with Acme' })
  await button.waitFor()
  assert.equal(await page.getByLabel('Key', { exact: true }).count(), 0)
  await assertAccessible(page)
  await button.press('Enter')
  await page.getByPlaceholder('Enter any login').fill('anna')
  await page.getByPlaceholder('and password').fill('x')
  await page.keyboard.press('Enter')
  await page.getByRole('button', { name: 'Continue' }).click()
  await page.waitForSelector('header.top')
  assert.equal(page.url(), `${publicUrl}/ui/acme/qa/calls?q=status%3Aerror`)
  const link = page.locator('header.top a').first()
  assert.equal(new URL(String(await link.getAttribute('href')), page.url()).pathname, '/team/heddle/ui/')
  await link.click()
  await page.waitForURL(`${publicUrl}/ui/`)
  await page.reload()
  await page.waitForSelector('header.top')
  await page.keyboard.press('Control+k')
  await page.getByRole('combobox').fill('sign out')
  await page.keyboard.press('Enter')
  await page.waitForURL(`${provider.issuer}/session/end**`)
  await page.getByRole('button', { name: /yes/i }).click()
  await page.waitForURL(`${publicUrl}/`)
  await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor()
  assert.deepEqual(errors, [])
})

test('while the issuer is down, a person reads why, and finds back to the sign-in', { skip }, async (t) => {
  const { provider, publicUrl } = await served(t)
  await provider.stop()
  const browser = await openBrowser(t)
  const page = await (await browser.newContext()).newPage()
  page.setDefaultTimeout(120_000)
  await page.goto(`${publicUrl}/ui/`)
  await page.getByRole('link', { name: 'Sign in with Acme' }).click()
  await page.getByText('Acme cannot be asked who you are').waitFor()
  await assertAccessible(page)
  await page.getByRole('link', { name: 'Back to the sign-in' }).click()
  await page.getByRole('link', { name: 'Sign in with Acme' }).waitFor()
})
