import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { test } from 'node:test'
import type { z } from 'zod'
import { ChatBody } from '../../src/operations/chat/contract.ts'
import { CompletionBody } from '../../src/operations/completions/contract.ts'
import { EmbeddingBody } from '../../src/operations/embeddings/contract.ts'
import { CountTokensBody, MessagesBody } from '../../src/operations/messages/contract.ts'
import {
  EmbedBody,
  GenerateBody,
  Message,
  OllamaChatBody,
  Options,
} from '../../src/operations/ollama/contract.ts'
import { InputTokensBody, ResponsesBody } from '../../src/operations/responses/contract.ts'

/**
 * The fields of requests that published clients can send. Those of the SDKs are the members of the parameters in their
 * type declarations, without the ones that are sent as headers; those of vLLM are of its request model.
 */
const published: Record<string, Record<string, string[]>> = JSON.parse(
  readFileSync(new URL('../fixtures/published-fields.json', import.meta.url), 'utf8'),
)

const contracts: Record<string, z.ZodObject> = {
  'POST /v1/chat/completions': ChatBody,
  'POST /v1/completions': CompletionBody,
  'POST /v1/embeddings': EmbeddingBody,
  'POST /v1/messages': MessagesBody,
  'POST /v1/messages/count_tokens': CountTokensBody,
  'POST /v1/responses': ResponsesBody,
  'POST /v1/responses/input_tokens': InputTokensBody,
  'POST /api/chat': OllamaChatBody,
  'POST /api/chat messages': Message,
  'POST /api/chat options': Options,
  'POST /api/generate': GenerateBody,
  'POST /api/embed': EmbedBody,
}

for (const [client, operations] of Object.entries(published)) {
  for (const [operation, fields] of Object.entries(operations)) {
    test(`${client}, ${operation}: each field is honoured, listed without effect, or refused by name`, () => {
      const known = Object.keys(contracts[operation]?.shape ?? {})
      assert.deepEqual(
        fields.filter((name) => !known.includes(name)),
        [],
      )
      assert.ok(fields.length >= 5)
    })
  }
}
