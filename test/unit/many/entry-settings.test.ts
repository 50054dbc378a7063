import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ModelError } from '../../../packages/engine/index.ts'
import { readConfig } from '../../../src/config.ts'
import { inWordsOf, settingsOf } from '../../../src/inference/many/entry-settings.ts'

const entry = { name: 'small', file: './small.gguf' }

const given = {
  context: 512,
  parallel: 2,
  threads: 3,
  batch: 64,
  speculation: false,
  kv_keys: 'q8_0',
  kv_values: 'bf16',
  flash_attention: 'on',
} as const

test('the fields of an entry replace settings, and other settings remain', () => {
  const config = readConfig({
    HEDDLE_SPECULATION: 'on',
    HEDDLE_PROMPT_CACHE: '8MiB',
    HEDDLE_PROMPT_CACHE_DISK: '16MiB',
    HEDDLE_KV_KEYS: 'q4_0',
  })
  const plain = settingsOf(entry, config)
  assert.deepEqual([plain.speculation, plain.kv_keys], [true, 'q4_0'])
  assert.deepEqual([plain.prompt_cache, plain.prompt_cache_disk], [8 * 2 ** 20, 16 * 2 ** 20])
  const own = settingsOf({ ...entry, ...given, prompt_cache: 'auto', prompt_cache_disk: 'off' }, config)
  assert.deepEqual(
    Object.fromEntries(Object.keys(given).map((name) => [name, Reflect.get(own, name)])),
    given,
  )
  assert.deepEqual([own.prompt_cache, own.prompt_cache_disk], ['auto', 0])
  assert.equal(settingsOf({ ...entry, prompt_cache_disk: '2GiB' }, config).prompt_cache_disk, 2 ** 31)
})

test('an error names the field of the entry if it has one, and the setting otherwise', () => {
  const error = new ModelError('HEDDLE_KV_VALUES: given q8_0 with HEDDLE_FLASH_ATTENTION=off; HEDDLE_GPU.')
  const told = (said: object) => inWordsOf({ ...entry, ...said }, error).message
  assert.equal(told({}), error.message)
  assert.equal(
    told({ kv_values: 'q8_0' }),
    'kv_values: given q8_0 with HEDDLE_FLASH_ATTENTION=off; HEDDLE_GPU.',
  )
  assert.equal(
    told({ flash_attention: 'off' }),
    'HEDDLE_KV_VALUES: given q8_0 with flash_attention=off; HEDDLE_GPU.',
  )
})
