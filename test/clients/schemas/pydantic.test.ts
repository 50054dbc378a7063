import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { newFolder } from '../../support/server.ts'
import { checkSchema, textsOf } from './compiled.ts'

/** The schemas that pydantic 2 writes for each of its types, as saved by pydantic-schemas.py. */

type Published = Record<string, { plain: object; strict: object | null } | null>

const file = (name: string) => new URL(name, import.meta.url)
const { schemas } = JSON.parse(readFileSync(file('pydantic-schemas.json'), 'utf8')) as { schemas: Published }
const both = Object.entries(schemas).flatMap(([name, published]) =>
  published === null ? [] : [{ name, ...published }],
)

test('every pydantic type compiles, plain and in the strict form of the openai package', () => {
  let compiled = 0
  for (const { name, plain, strict } of both) {
    if (checkSchema(name, plain, []) === 'compiled') compiled++
    if (strict !== null) checkSchema(name, strict, [])
  }
  assert.ok(compiled > 150, `${compiled} compiled`)
})

const python = spawnSync('python3', ['-c', 'import pydantic, annotated_types, typing_extensions'])
const skip = python.status === 0 ? false : 'there is no python3 with pydantic 2'

/** Types that pydantic checks more strictly than its schemas say: digits, past times, schemes, texts with a meaning. */
const saysLess = new Set([
  ...['complex', 'Fraction', 'Decimal of digits', 'condecimal', 'conbytes', 'constr', 'condate'],
  // RFC 3339 allows 60 seconds.
  ...['datetime', 'time', 'AwareDatetime', 'NaiveDatetime', 'PastDatetime', 'FutureDatetime'],
  ...[
    'PastDate',
    'FutureDate',
    'timezone',
    'discriminator',
    'Hashable',
    'Json',
    'Json of list',
    'ImportString',
  ],
  ...['dict by int', 'dict by enum', 'dict by Literal', 'dict by UUID', 'dict by pattern'],
  ...['FilePath', 'DirectoryPath', 'NewPath', 'SocketPath'],
  ...['Base64Str', 'Base64UrlStr', 'Base64UrlBytes'],
  ...['AnyHttpUrl', 'AnyWebsocketUrl', 'WebsocketUrl', 'FileUrl', 'FtpUrl'],
])
const isAddress = (name: string) => name.endsWith('Dsn')

test('pydantic accepts what is generated for its types', { skip }, async (t) => {
  const answers = join(await newFolder(t), 'answers.jsonl')
  const lines = both.flatMap(({ name, plain }) =>
    saysLess.has(name) || isAddress(name)
      ? []
      : textsOf(plain, 6, 20_261_122).map((text) => JSON.stringify([name, text])),
  )
  assert.ok(lines.length > 500, `${lines.length} texts`)
  writeFileSync(answers, `${lines.join('\n')}\n`)
  const script = fileURLToPath(file('pydantic-schemas.py'))
  const { stdout, stderr, status } = spawnSync('python3', [script, answers], { encoding: 'utf8' })
  assert.equal(status, 0, stderr)
  assert.deepEqual(stdout.split('\n').filter(Boolean), [])
})
