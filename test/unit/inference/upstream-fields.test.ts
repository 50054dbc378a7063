import assert from 'node:assert/strict'
import { test } from 'node:test'
import { forwardedFields } from '../../../src/inference/upstream/fields.ts'
import { kindsOfUpstreams } from '../../../src/inference/upstream/kinds.ts'
import { ChatBody } from '../../../src/operations/chat/contract.ts'
import { CompletionBody } from '../../../src/operations/completions/contract.ts'

/** Fields whose effect does not need the other server, or for which it is sent something else. */
const withoutIt = [
  ...['echo', 'include_reasoning', 'functions', 'function_call', 'modalities', 'watermarking'],
  ...['session_id', 'stream_interval', 'request_id', 'store', 'metadata', 'best_of'],
  ...[
    'messages',
    'prompt',
    'suffix',
    'model',
    'n',
    'seed',
    'random_seed',
    'logit_bias',
    'max_tokens',
    'max_completion_tokens',
  ],
  ...['tools', 'tool_choice', 'parallel_tool_calls', 'documents', 'chat_template_kwargs'],
  ...['logprobs', 'top_logprobs', 'prompt_logprobs', 'return_token_ids', 'return_tokens_as_token_ids'],
  ...['stream', 'stream_options'],
]

test('a field that is honoured here is not lost on the way to another server', () => {
  const shape: Record<string, { meta(): Record<string, unknown> | undefined }> = {
    ...CompletionBody.shape,
    ...ChatBody.shape,
  }
  const honoured = Object.keys(shape).filter(
    (name) => !['none', 'refused'].includes(String(shape[name]?.meta()?.['x-effect'])),
  )
  const request = { inputs: [], body: Object.fromEntries(honoured.map((name) => [name, 'x'])) }
  const passed = Object.keys(forwardedFields(request as never, kindsOfUpstreams.heddle, false))
  const lost = honoured.filter((name) => !passed.includes(name))
  assert.deepEqual(
    lost.toSorted(),
    withoutIt.toSorted(),
    'a new field belongs into src/inference/upstream/kinds.ts; here only if the other server does not need it',
  )
})
