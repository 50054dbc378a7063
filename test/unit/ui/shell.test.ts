import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { test } from 'node:test'
import { inQuotedJson, projectInAddress, quoted } from '../../../ui/value/shell.ts'

const texts = [
  'acme/qa',
  "x/';exit 3;'",
  'x/$(exit 3)',
  'x/`exit 3`',
  'x/"\\',
  'é/日本',
  "x/''",
  'x/!!',
  'x/\u001b[31m',
]

/** The argument as the shell reads it. */
const readByShell = (argument: string) =>
  execFileSync('sh', ['-c', `printf %s ${argument}`], { encoding: 'utf8' })

test('project names in commands to copy are quoted for the shell', () => {
  for (const text of texts) {
    assert.equal(readByShell(quoted(text)), text)
    assert.deepEqual(JSON.parse(readByShell(`'{"project_id": "${inQuotedJson(text)}"}'`)), {
      project_id: text,
    })
    const address = projectInAddress(text)
    assert.match(address, /^[\w./%~-]+$/)
    assert.equal(readByShell(`"${address}"`), address)
    assert.deepEqual(address.split('/').map(decodeURIComponent), text.split('/'))
  }
})
