import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { newFolder, startServer } from '../support/server.ts'
import { until } from '../support/wait.ts'

const pageOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8')
const readme = pageOf('README.md')
const tour = pageOf('docs/tour.md')

interface Step {
  command: string
  printed: string
}

/**
 * `$ ` begins a command, which continues until its quotes are closed and after a line that ends in a backslash.
 * The lines after it are its output. Where a page breaks a long line of output, the rest is indented.
 */
function stepsOf(text: string): Step[] {
  const steps: Step[] = []
  for (const [, block = ''] of text.matchAll(/```console\n(.*?)```/gs)) {
    let open = false
    for (const line of block.trimEnd().split('\n')) {
      const last = steps.at(-1)
      if (line.startsWith('$ ')) steps.push({ command: line.slice(2), printed: '' })
      else if (last && open) last.command += `\n${line}`
      else if (last) last.printed += `${line}\n`
      const command = steps.at(-1)?.command ?? ''
      open = command.endsWith('\\') || (command.match(/'/g)?.length ?? 0) % 2 === 1
    }
  }
  return steps.map(({ command, printed }) => ({ command, printed: printed.replace(/\n +/g, '') }))
}

/**
 * Replaces what differs between runs: ids and times, except those that the session itself sends, and the answers of a model,
 * which may differ between processors.
 */
function settled(answer: string): string {
  return answer
    .replace(/"content":"[^"]+"/g, '"content":"some text"')
    .replace(/"arguments":"(\\.|[^"\\])*"/g, '"arguments":"some text"')
    .replace(/"chatcmpl-(tool-)?[0-9a-f]{32}"/g, '"some id"')
    .replace(/"created":\d+/g, '"created":0')
    .replace(/"completion_tokens":\d+/g, '"completion_tokens":0')
    .replace(/"total_tokens":\d+/g, '"total_tokens":0')
    .replace(/"(latency_ms|first_token_ms|total_ms)":[\d.]+/g, '"$1":0')
    .replace(/"heddle-[\d.]+-[0-9a-f]{8}"/g, '"some fingerprint"')
    .replace(/(?!019a9c1e-7a00)[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}/g, 'some id')
    .replace(/(?!2026-11-20T08:00:0)\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'some time')
}

/** The shell function and the five lines of `curl` that the README shows, on the variables that the tour sets. */
const [, fiveOperations = ''] = readme.match(/```sh\n(post\(\).*?)```/s) ?? []

test('the consoles of the README and of the tour answer as printed, and so do the five operations', async (t) => {
  const key = 'the-key-of-the-first-user'
  const server = await startServer(t, {
    HEDDLE_DATA: await newFolder(t),
    HEDDLE_USERS: `admin:${key}`,
    HEDDLE_MODEL: 'builtin',
  })
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)
  const steps = [...stepsOf(readme), ...stepsOf(tour)]
  assert.ok(steps.length >= 20, `${steps.length} commands were found`)
  const [definition = '', ...operations] = fiveOperations.split('\n').filter((line) => line !== '')
  assert.equal(operations.length, 5)
  const commands = [...steps.map(({ command }) => command), definition, ...operations]
  let script = 'set -eu\n'
  for (const command of commands) {
    const real = command
      .replace(/^export KEY=\S+/, `export KEY=${key}`)
      .replaceAll('localhost:8080', server.address.replace('http://', ''))
    script += `${real}\nprintf '\\n%s\\n' '--- next ---'\n`
  }
  const { stdout, stderr, status } = spawnSync('bash', ['-c', script], { encoding: 'utf8' })
  assert.equal(stderr, '')
  assert.equal(status, 0, stdout.slice(-2_000))
  const answers = stdout.split('--- next ---\n').map((answer) => answer.trim())
  for (const [index, { printed }] of steps.entries()) {
    assert.equal(settled(answers[index] ?? ''), settled(printed.trim()))
  }
  for (const answer of answers.slice(steps.length + 1, -1)) assert.match(answer, /^\{.*\}$/s)
})
