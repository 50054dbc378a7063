import assert from 'node:assert/strict'
import { afterEach, test } from 'node:test'
import { hermes } from '../../../packages/chat-format/index.ts'
import { createConstraintCompiler } from '../../../src/inference/constraints/compile.ts'
import { answerTenant, createTenantCache } from '../../../src/threads/tenant-cache.ts'

afterEach(() => answerTenant(''))

test('P6: what was made for one tenant is not found for another', () => {
  const cache = createTenantCache<{ made: string }>({ max: 4 })
  const made = (key: string, by: string) => cache.memo(key, () => ({ made: by })).made
  answerTenant('alice')
  assert.equal(made('secret', 'alice'), 'alice')
  answerTenant('bob')
  assert.equal(cache.get('secret'), undefined)
  assert.equal(made('secret', 'bob'), 'bob')
  answerTenant('alice')
  assert.equal(made('secret', 'nobody'), 'alice')
  for (let n = 0; n < 4; n++) made(String(n), 'alice')
  assert.equal(cache.get('secret'), undefined, 'the bound is that of all together')
})

/** Together these take more steps than a request may, so some are widened. */
const catalogue = Array.from({ length: 40 }, (_, at) => ({
  name: `tool_${at}`,
  strict: false,
  parameters: {
    type: 'object',
    properties: {
      name: { type: 'string', pattern: `^[a-z]*x${at}.{0,15}[0-9]{3}$`, minLength: 3, maxLength: 90 },
    },
  },
}))

test('P6: tools are widened alike, whether or not another tenant has used them before', () => {
  const compiler = createConstraintCompiler()
  const widenedFor = (tenant: string, word: string) => {
    answerTenant(tenant)
    const { widened } = compiler.compile(
      {
        kind: 'turn',
        thought: 'over',
        content: { kind: 'choice', choices: [word] },
        calls: { format: hermes, tools: catalogue, choice: 'auto', isParallel: true },
      },
      { whitespace: 'bounded' },
      'tools',
    )
    return widened
  }
  const first = widenedFor('alice', 'one')
  assert.ok(first.length > 0)
  assert.ok(widenedFor('alice', 'two').length < first.length, 'what is cached takes no steps')
  assert.deepEqual(widenedFor('bob', 'three'), first)
})
