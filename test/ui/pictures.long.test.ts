import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { crc32, deflateSync } from 'node:zlib'
import type { Page } from 'playwright-core'
import { keys } from '../support/app.ts'
import { noBrowser, openPage } from '../support/browser.ts'
import { project } from '../support/calls.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { modelsOfUpstream, startFakeUpstream, streamWords } from '../support/fake-upstream.ts'
import { pageTests } from '../support/page-app.ts'
import { until } from '../support/wait.ts'

/** A picture that the call names as a file is shown, asked again, and part of an exported file. */

const skip = noBrowser
const side = 40

function pngWithPixels(): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(side)
  header.writeUInt32BE(side, 4)
  header.writeUInt8(8, 8)
  const rows = Array.from({ length: side }, () => Buffer.concat([Buffer.alloc(1), randomBytes(side)]))
  const chunk = (type: string, data: Buffer) => {
    const [length, sum, body] = [Buffer.alloc(4), Buffer.alloc(4), Buffer.concat([Buffer.from(type), data])]
    length.writeUInt32BE(data.length)
    sum.writeUInt32BE(crc32(body))
    return Buffer.concat([length, body, sum])
  }
  const data = [
    chunk('IHDR', header),
    chunk('IDAT', deflateSync(Buffer.concat(rows))),
    chunk('IEND', Buffer.alloc(0)),
  ]
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), ...data])
}

const base64After = (start: string) =>
  Buffer.concat([Buffer.from(start), randomBytes(1_200)]).toString('base64')

const url = `data:image/png;base64,${pngWithPixels().toString('base64')}`
const content = [
  { type: 'text', text: 'What is this?' },
  { type: 'image_url', image_url: { url } },
  { type: 'input_audio', input_audio: { data: base64After('RIFFsizeWAVE'), format: 'wav' } },
  { type: 'file', file: { file_data: `data:application/pdf;base64,${base64After('%PDF-1.7')}` } },
]
const messages = [{ role: 'user', content }]

const upstream = skip
  ? undefined
  : await startFakeUpstream({ after }, streamWords('A', ' cat'), {
      models: [{ id: 'far', owned_by: 'vllm' }],
    })
const { open, served, browser } = await pageTests(
  { after },
  {
    ...(upstream && { models: await modelsOfUpstream([upstream.url]) }),
    fill: async ({ app, post }) => {
      const headers = { authorization: `Bearer ${keys.alice}`, 'x-heddle-project': project }
      const answer = await app.inject({
        method: 'POST',
        url: chatUrl,
        headers,
        payload: asking({ messages }),
      })
      const id = answer.headers['x-heddle-call-id']
      const { text } = await post('/call/read', { project_id: project, id })
      assert.match(text, /CustomWeaveType/)
      return { call: String(id) }
    },
  },
)

async function assertShown(page: Page): Promise<void> {
  const picture = page.locator('.chat img.picture')
  await picture.waitFor()
  await until('the picture is drawn', () =>
    picture.evaluate((shown, width) => (shown as HTMLImageElement).naturalWidth === width, side),
  )
}

test('a picture that is a file is shown, also in an exported file', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/${project}/call/${served().call}`)
  await assertShown(page)
  const [download] = await Promise.all([
    page.waitForEvent('download'),
    page.getByRole('button', { name: 'Export call as one file' }).click(),
  ])
  const folder = mkdtempSync(join(tmpdir(), 'heddle-pictures-'))
  t.after(() => rmSync(folder, { recursive: true }))
  const path = join(folder, download.suggestedFilename())
  await download.saveAs(path)
  const file = await openPage(browser(), t, pathToFileURL(path).href, { offline: true })
  await assertShown(file.page)
  assert.deepEqual([...problems, ...file.problems], [])
})

test('a call with a picture, a sound and a document is asked again with them', { skip }, async (t) => {
  const { page, problems } = await open(t, `/ui/play?p=${encodeURIComponent(project)}&from=${served().call}`)
  await page.waitForSelector('.play')
  const message = page.getByLabel('Message 1', { exact: true })
  await until('the picture is in the message', async () => (await message.inputValue()).includes(url))
  const before = upstream?.asked.length ?? 0
  await page.keyboard.press('Control+Enter')
  await page.waitForSelector('.answer >> text=cat')
  assert.equal(upstream?.asked.length, before + 1)
  assert.deepEqual(upstream?.asked.at(-1)?.body.messages, messages)
  assert.deepEqual(problems, [])
})
