import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import { refusals } from '../../src/domain/refusals.ts'
import { formats, numberFormats } from '../../src/inference/constraints/schema/formats.ts'
import { keywords } from '../../src/inference/constraints/schema/keywords.ts'

const root = new URL('../..', import.meta.url)

test('the pages in docs that are made of the code are current', () => {
  const { status, stderr } = spawnSync(process.execPath, ['scripts/generate-docs.ts', '--check'], {
    cwd: root,
    encoding: 'utf8',
  })
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
})

test('docs/errors.md lists every code with its status', () => {
  const page = readFileSync(new URL('docs/errors.md', root), 'utf8')
  for (const [code, { status }] of Object.entries(refusals)) {
    assert.ok(page.includes(`\n| ${status} | \`${code}\` |`), code)
  }
})

test('docs/structured-output.md lists every keyword and format that the compiler knows', () => {
  const page = readFileSync(new URL('docs/structured-output.md', root), 'utf8')
  for (const [name, { standing }] of Object.entries(keywords)) {
    assert.ok(page.includes(standing === 'annotation' ? `\`${name}\`` : `\n| \`${name}\` |`), name)
  }
  for (const name of [...Object.keys(formats), ...Object.keys(numberFormats)]) {
    assert.ok(page.includes(`\n| \`${name}\` |`), name)
  }
})
