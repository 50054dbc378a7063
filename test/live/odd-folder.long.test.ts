import assert from 'node:assert/strict'
import { cp, mkdir, symlink } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { buildPage } from '../support/built-page.ts'
import { asking, chatUrl } from '../support/chat.ts'
import { newFolder, startOne } from '../support/server.ts'
import { until } from '../support/wait.ts'

const root = fileURLToPath(new URL('../..', import.meta.url))

/** A real copy: Node resolves a link to the plain name of what it leads to. Packages are only linked. */
async function copyInto(folder: string): Promise<void> {
  await mkdir(folder)
  for (const name of ['bin', 'dist', 'migrations', 'models', 'packages', 'src', 'package.json']) {
    await cp(join(root, name), join(folder, name), { recursive: true })
  }
  await symlink(join(root, 'node_modules'), join(folder, 'node_modules'))
}

test('a server in a folder with a space, a letter beyond ASCII and marks of URLs starts and answers', async (t) => {
  const folder = join(await newFolder(t), 'a b ü #1 100%')
  buildPage()
  await copyInto(folder)
  const server = await startOne(t, { HEDDLE_DATA: 'data', HEDDLE_MODEL: 'builtin' }, [], folder)
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  const constrained = asking({ max_tokens: 8, structured_outputs: { choice: ['yes', 'no'] } })
  const answer = await server.post(chatUrl, constrained)
  assert.equal(answer.status, 200)
  const { choices } = (await answer.json()) as { choices: { message: { content: string } }[] }
  assert.match(choices[0]?.message.content ?? '', /^(yes|no)$/)
  assert.equal((await server.get('/ui/')).status, 200, 'the page is found')
  const template = { ...asking({ max_tokens: 1 }), chat_template: '{{ messages[0].content }}' }
  assert.equal((await server.post(chatUrl, template)).status, 200, 'the process for templates is found')
  assert.equal(await server.end('SIGTERM'), 0)
})
