import assert from 'node:assert/strict'
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { text } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { keys } from '../support/app.ts'
import { newFolder } from '../support/server.ts'
import { startReady } from './loop/place.ts'

/** The snippets of docs/clients.md, each run as a program, unchanged except for the port and the entity. */

const page = readFileSync(new URL('../../docs/clients.md', import.meta.url), 'utf8')
const server = await startReady({ after }, await newFolder({ after }))
// Within node_modules, where packages are found and plain JavaScript files are allowed.
const folder = await mkdtemp(fileURLToPath(new URL('node_modules/documented-', import.meta.url)))
after(() => rm(folder, { recursive: true, force: true }))

const commands: Record<string, { command: string; file: string }> = {
  js: { command: process.execPath, file: 'snippet.mjs' },
  sh: { command: 'bash', file: 'snippet.sh' },
  python: { command: 'python3', file: 'snippet.py' },
}

/** A snippet of Python is skipped where the packages that it imports are not installed. */
function skipOf(language: string, snippet: string): string | false {
  if (language !== 'python') return false
  const imports = snippet.match(/^(?:import|from) .+$/gm)?.join('\n') ?? ''
  const { status } = spawnSync('python3', ['-c', imports])
  return status === 0 ? false : 'there is no python3 with the packages of the snippet'
}

const settings = new Set(['yaml', 'toml', 'json'])
let count = 0
for (const [, title = '', section = ''] of page.matchAll(/^## (.+)\n([\s\S]*?)(?=^## |(?![\s\S]))/gm)) {
  for (const [, language = '', snippet = ''] of section.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)) {
    // A settings file is not a program.
    if (settings.has(language)) continue
    const number = ++count
    const { command, file } = commands[language] ?? assert.fail(`a snippet in ${language}`)
    const skip = skipOf(language, snippet)
    test(`${title}, snippet ${number}`, { skip }, async () => {
      const place = `${folder}/${number}-${file}`
      await writeFile(
        place,
        snippet.replaceAll('http://localhost:8080', server.address).replaceAll("'main/", "'acme/"),
      )
      const child = spawn(command, [place], {
        cwd: folder,
        env: { PATH: process.env.PATH, HOME: folder, KEY: keys.alice },
        stdio: ['ignore', 'pipe', 'pipe'],
      })
      const [out, complaints, [code]] = await Promise.all([
        text(child.stdout),
        text(child.stderr),
        once(child, 'exit'),
      ])
      assert.equal(code, 0, complaints)
      assert.notEqual(out.trim(), '', 'it prints its result')
      assert.doesNotMatch(out, /undefined|error/i)
    })
  }
}

test('each client in the table has a section', () => {
  const headings = new Set(
    [...page.matchAll(/^## (.+)$/gm)].map(([, title = '']) => title.toLowerCase().replaceAll(' ', '-')),
  )
  const links = [...page.matchAll(/\]\(#([\w-]+)\)/g)].map(([, link = '']) => link)
  assert.ok(links.length >= 8)
  for (const link of links) assert.ok(headings.has(link), link)
  assert.ok(count >= 10, `${count} snippets`)
})
