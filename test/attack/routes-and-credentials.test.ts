import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import fc from 'fast-check'
import { hashKey } from '../../src/domain/keys.ts'
import { apiOf } from '../../src/http/errors.ts'
import { keys } from '../support/app.ts'
import { addressOf, openAppWithRoutes } from '../support/routes.ts'
import { campaign } from './campaign/length.ts'

const { app, database, routes } = await openAppWithRoutes({ after }, { settings: { HEDDLE_DOCS: 'on' } })
const revoked = 'carol-revoked-secret-key'
const carol = { name: 'carol', role: 'admin' as const, entities: ['*'], created_at: 1 }
await database.write('addUser', { user: carol, key: { id: 'carol-1', hash: hashKey(revoked) } })
await database.write('revokeKey', { id: 'carol-1', now: 2 })

const right = new Map(Object.entries(keys).map(([name, key]) => [key, name]))
const names = ['api', 'alice', 'bob', 'root', 'carol', 'API', '', 'heddle', '*']

/** The user that the header names according to the standards, without using the server's code. */
function callerOf(header: string): string | undefined {
  const [, scheme = '', given = ''] = /^(basic|bearer) +([^ ]*)$/i.exec(header.trim()) ?? []
  if (scheme.toLowerCase() === 'bearer') return right.get(given)
  const text = Buffer.from(given, 'base64').toString()
  const colon = text.indexOf(':')
  const caller = right.get(text.slice(colon + 1))
  return colon >= 0 && ['api', caller].includes(text.slice(0, colon)) ? caller : undefined
}

const secret = fc.oneof(
  { arbitrary: fc.constantFrom(...right.keys()), weight: 4 },
  fc.constantFrom(...Object.values(keys), revoked, hashKey(keys.alice), '', 'x'),
  fc
    .constantFrom(...Object.values(keys))
    .chain((key) =>
      fc
        .nat(key.length - 1)
        .chain((at) =>
          fc.constantFrom(
            ...[
              key.slice(0, at),
              key.slice(at),
              `${key.slice(0, at)}\0${key.slice(at)}`,
              key.toUpperCase(),
              `${key} `,
            ],
            ...[`${key},${key}`, `${key}:${key}`, `${key}\u0301`, key.repeat(at + 1), ` ${key}`],
          ),
        ),
    ),
  fc.string({ maxLength: 30 }),
  fc.string({ unit: 'binary', maxLength: 10 }),
)
const base64 = (text: string) => Buffer.from(text).toString('base64')
const pair = fc.tuple(
  fc.oneof({ arbitrary: fc.constantFrom(...names), weight: 4 }, fc.string({ maxLength: 8 })),
  secret,
)
const scheme = fc.oneof(
  { arbitrary: fc.constantFrom('Basic', 'basic', 'BASIC', 'Bearer', 'bearer'), weight: 3 },
  fc.constantFrom('Digest', 'Negotiate', 'Basic,', '', 'ApiKey', 'Basic Basic'),
)
const credentials = fc.oneof(
  fc.tuple(scheme, secret),
  fc.tuple(
    scheme,
    pair.map(([name, key]) => base64(`${name}:${key}`)),
  ),
  fc.tuple(
    scheme,
    pair.map(([name, key]) => base64(`${name}:${key}`).replace(/=+$/, '')),
  ),
  fc.tuple(
    scheme,
    pair.map(([name, key]) => `${base64(`${name}:${key}`)}!`),
  ),
  fc.tuple(
    scheme,
    pair.map(([name, key]) => base64(`${name}${key}`)),
  ),
  fc.tuple(
    scheme,
    pair.map(([name, key]) => `${name}:${key}`),
  ),
)
/** What a header can contain; anything else never arrives. */
const header = fc
  .tuple(
    credentials,
    fc.constantFrom(' ', ' ', ' ', '  ', '', '\t', ' , '),
    fc.constantFrom('', '', '', ' ', ',x'),
  )
  .map(([[scheme, given], between, behind]) => `${scheme}${between}${given}${behind}`)
  .filter((text) => /^[\t\x20-\x7e\x80-\xff]*$/.test(text))

const asked = fc.constantFrom(...routes.filter(({ isPublic, staysOpen }) => !isPublic && !staysOpen))

test(`P5: a route accepts right credentials and no others (seed ${campaign.seed})`, async () => {
  let known = 0
  const property = fc.asyncProperty(asked, header, async (route, authorization) => {
    const answer = await app.inject({
      method: route.method as 'GET',
      url: addressOf(route),
      headers: { authorization },
    })
    const caller = callerOf(authorization)
    assert.ok(answer.statusCode < 500, answer.body)
    if (caller !== undefined) known += 1
    // A server may be stricter than the standards, never laxer.
    if (caller === undefined) assert.equal(answer.statusCode, 401, answer.body)
    if (answer.statusCode !== 401 || route.method === 'HEAD') return
    const { code, error } = answer.json()
    assert.deepEqual(error === undefined, apiOf(route.url) === 'record')
    for (const key of [...right.keys(), revoked]) assert.ok(!answer.body.includes(key))
    // The errors of Ollama are texts without a code.
    assert.deepEqual(typeof error === 'string', apiOf(route.url) === 'ollama')
    if (typeof error === 'string') return
    assert.match(
      error?.code ?? error?.details?.error_code ?? code,
      /^(not_authenticated|(wrong|malformed)_credentials)$/,
    )
  })
  await fc.assert(property, { seed: campaign.seed, numRuns: campaign.credentials })
  assert.ok(known >= campaign.credentials / 100, `only ${known} of the credentials were right`)
})
