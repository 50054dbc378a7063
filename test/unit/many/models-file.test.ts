import assert from 'node:assert/strict'
import { mkdir, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { test } from 'node:test'
import { checkModels } from '../../../src/inference/many/models-file.ts'
import { readModels } from '../../../src/inference/many/read-models.ts'
import { newFolder } from '../../support/server.ts'

const local = { name: 'small', file: './small.gguf' }

const wrongOf = (value: unknown) => {
  const checked = checkModels(value)
  return 'wrong' in checked ? checked.wrong : []
}

test('a file with local models, servers, aliases and fallbacks is accepted', () => {
  assert.deepEqual(
    wrongOf({
      $schema: './models.schema.json',
      default: 'gpt-4o-mini',
      models: [
        {
          ...local,
          aliases: ['gpt-4o-mini'],
          context: 8192,
          parallel: 4,
          preload: true,
          fallbacks: ['cloud'],
        },
        { name: 'own', file: 'builtin' },
        {
          name: 'careful',
          file: './careful.gguf',
          speculation: false,
          prompt_cache: '4GiB',
          prompt_cache_disk: 'off',
          kv_keys: 'q8_0',
          kv_values: 'bf16',
          flash_attention: 'on',
        },
        { name: 'hub', file: 'hf:acme/tiny:Q4_K_M' },
        { name: 'cloud', upstream: 'provider', model: 'large-2', timeout: 5_000, retries: 2 },
      ],
      upstreams: [
        {
          name: 'provider',
          retries: 1,
          kind: 'vllm',
          addresses: [
            'https://one.example/v1',
            { url: 'http://two.example/v1', weight: 2, key: { file: 'two.key' } },
          ],
          key: { env: 'PROVIDER_KEY' },
          timeout: 60_000,
        },
      ],
    }),
    [],
  )
})

for (const [what, value, line] of [
  ['a list', [], 'the file: given a list'],
  ['an empty file', {}, 'models: given none; accepted: at least one model'],
  [
    'a mistyped field',
    { models: [{ ...local, contxt: 1 }] },
    'models[0].contxt: given an unknown field; accepted: context',
  ],
  [
    'a string for a number',
    { models: [{ ...local, context: '8k' }] },
    'models[0].context: given "8k"; accepted: a whole number from 64 to 16777216.',
  ],
  [
    'a number out of range',
    { models: [{ ...local, parallel: 1000 }] },
    'models[0].parallel: given 1000; accepted: a whole number from 1 to 256.',
  ],
  [
    'a size with an unknown unit',
    { models: [{ ...local, prompt_cache: '4 kilos' }] },
    'models[0].prompt_cache: given "4 kilos"; accepted: auto, off, or at least 1MiB',
  ],
  [
    'a size that cannot be chosen',
    { models: [{ ...local, prompt_cache_disk: 'auto' }] },
    'models[0].prompt_cache_disk: given "auto"; accepted: off, or at least 1MiB',
  ],
  [
    'an unknown type of values',
    { models: [{ ...local, kv_values: 'q3_k' }] },
    'models[0].kv_values: given "q3_k"; accepted: f32, f16, bf16',
  ],
  [
    'a string for a flag',
    { models: [{ ...local, speculation: 'off' }] },
    'models[0].speculation: given "off"; accepted: true or false',
  ],
  [
    'a setting of local models with an upstream server',
    {
      models: [{ name: 'a', upstream: 'b', flash_attention: 'on' }],
      upstreams: [{ name: 'b', addresses: ['https://x.example/v1'] }],
    },
    'models[0].flash_attention: given "on"; accepted: nothing together with upstream.',
  ],
  [
    'a setting of models of servers with a file',
    { models: [{ ...local, retries: 1 }] },
    'models[0].retries: given 1; accepted: nothing together with file.',
  ],
  [
    'too many retries',
    {
      models: [{ name: 'a', upstream: 'b', retries: 6 }],
      upstreams: [{ name: 'b', addresses: ['https://x.example/v1'] }],
    },
    'models[0].retries: given 6; accepted: a whole number from 0 to 5.',
  ],
  [
    'a name with a space',
    { models: [{ ...local, name: 'a b' }] },
    'models[0].name: given "a b"; accepted: a name without spaces',
  ],
  [
    'a repeated name',
    { models: [local, { ...local, aliases: ['x'] }] },
    'models[1].name: given "small"; accepted: another name: it is that of models[0].name.',
  ],
  [
    'an alias that is the name of another model',
    { models: [local, { ...local, name: 'b', aliases: ['small'] }] },
    'models[1].aliases[0]: given "small"; accepted: another name',
  ],
  [
    'a model with neither file nor upstream',
    { models: [{ name: 'a' }] },
    'models[0]: given neither file nor upstream; accepted: one of both.',
  ],
  [
    'a model with both file and upstream',
    { models: [{ ...local, upstream: 'x' }] },
    'models[0]: given file and upstream; accepted: one of both.',
  ],
  [
    'an address for a file',
    { models: [{ name: 'a', file: 'https://x.example/v1' }] },
    'models[0].file: given "https://x.example/v1"; accepted: builtin, hf:',
  ],
  [
    'an unknown server',
    { models: [{ name: 'a', upstream: 'x' }] },
    'models[0].upstream: given "x"; accepted: a name of upstreams: this file has none.',
  ],
  ['an unknown default', { default: 'b', models: [local] }, 'default: given "b"; accepted: "small".'],
  [
    'a fallback to itself',
    { models: [{ ...local, fallbacks: ['small'] }] },
    'models[0].fallbacks[0]: given "small"; accepted: another model: "small".',
  ],
  [
    'an address with a password',
    { upstreams: [{ name: 'a', serves: 'all', addresses: ['https://me:pw@x.example/v1'] }] },
    'upstreams[0].addresses[0]: given ',
  ],
  [
    'no address',
    { upstreams: [{ name: 'a', serves: 'all', addresses: [] }] },
    'upstreams[0].addresses: given a list; accepted: a list of 1 to 64 addresses.',
  ],
  [
    'an unknown kind',
    { upstreams: [{ name: 'a', kind: 'tgi', serves: 'all', addresses: ['https://x.example/v1'] }] },
    'upstreams[0].kind: given "tgi"; accepted: auto, heddle, vllm, llama-server, openai, anthropic.',
  ],
] as const) {
  test(`${what} is refused with the field, what was given and what is accepted`, () => {
    const wrong = wrongOf(value)
    assert.ok(
      wrong.some((one) => one.startsWith(line)),
      wrong.join('\n'),
    )
  })
}

test('a key inside the file is refused and never shown', () => {
  const key = 'sk-a-secret-of-somebody'
  for (const upstream of [
    { key },
    { key: { env: key, file: key } },
    { key: { env: `${key} ` } },
    { key: { value: key } },
    { addresses: [{ url: 'https://x.example/v1', key }] },
  ]) {
    const file = {
      upstreams: [{ name: 'a', serves: 'all', addresses: ['https://x.example/v1'], ...upstream }],
    }
    const wrong = wrongOf(file)
    assert.notDeepEqual(wrong, [])
    assert.ok(!wrong.join('\n').includes(key), wrong.join('\n'))
  }
})

test('keys come from variables and files, and paths are relative to the file', async (t) => {
  const folder = await newFolder(t)
  await mkdir(join(folder, 'keys'))
  await writeFile(join(folder, 'keys/two'), 'key-of-two\n')
  const path = join(folder, 'models.json')
  const upstream = {
    name: 'x',
    key: { env: 'KEY_OF_X' },
    addresses: [
      'https://one.example/v1/',
      { url: 'https://two.example/v1', weight: 3, key: { file: 'keys/two' } },
    ],
  }
  await writeFile(
    path,
    JSON.stringify({ models: [local, { name: 'b', upstream: 'x' }], upstreams: [upstream] }),
  )
  const spec = await readModels(path, { KEY_OF_X: 'key-of-one' })
  assert.deepEqual(spec.upstreams[0]?.addresses, [
    { url: 'https://one.example/v1', weight: 1, key: 'key-of-one' },
    { url: 'https://two.example/v1', weight: 3, key: 'key-of-two' },
  ])
  assert.equal(spec.models[0]?.file, join(folder, 'small.gguf'))
  assert.deepEqual(spec.files, [path, join(folder, 'keys/two')])
  await assert.rejects(
    readModels(path, {}),
    /upstreams\[0\]\.key\.env: given the environment variable KEY_OF_X that is empty or not set/,
  )
})

test('a file that is missing or is not JSON is reported as such', async (t) => {
  const folder = await newFolder(t)
  await assert.rejects(readModels(join(folder, 'none.json'), {}), /none\.json: it does not exist; accepted: /)
  const path = join(folder, 'models.json')
  await writeFile(path, '{\n  "models": [{"name": sk-secret}]}')
  await assert.rejects(readModels(path, {}), (error: Error) => {
    assert.match(error.message, /it is not JSON: Unexpected token 's'; accepted: a JSON object\./)
    return !error.message.includes('sk-secret')
  })
})

test('a file of another kind is refused in one line and in little time', () => {
  const key = Object.fromEntries(Array.from({ length: 100_000 }, (_, index) => [`k${index}`, 1]))
  for (const [value, says] of [
    [{ models: Array(1_000_000).fill(1) }, /^models: given 1000000 entries; accepted: at most 256\.$/],
    [{ models: [key] }, /^models\[0\]: given 100000 fields; accepted: at most 32\.$/],
    [key, /^the file: given 100000 fields/],
    [{ upstreams: [{ addresses: [{ key }] }] }, /^upstreams\[0\]\.addresses\[0\]\.key: given 100000 fields/],
  ] as const) {
    const checked = checkModels(value)
    assert.ok('wrong' in checked)
    assert.equal(checked.wrong.length, 1)
    assert.match(checked.wrong[0] ?? '', says)
  }
  const odd = { models: Array.from({ length: 200 }, () => ({ name: 'a b', file: 7 })) }
  const many = checkModels(odd)
  assert.ok('wrong' in many)
  assert.deepEqual([many.wrong.length, many.wrong.at(-1)], [51, 'and 350 more errors.'])
  let deep: unknown = 1
  for (let i = 0; i < 5_000; i++) deep = [deep]
  assert.ok('wrong' in checkModels({ models: deep }))
})
