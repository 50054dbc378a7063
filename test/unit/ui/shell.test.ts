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

/** What the command has when a shell has read it. */
const readByShell = (argument: string) =>
  execFileSync('sh', ['-c', `printf %s ${argument}`], { encoding: 'utf8' })

test('a shell reads nothing into names that a command to copy has', () => {
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
