import { writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Input, Model } from '../model.ts'
import { anthropicCountOf } from './anthropic/request.ts'
import { kindsOfUpstreams, type UpstreamKind } from './kinds.ts'
import { countOf } from './reply.ts'
import type { UpstreamServer } from './server.ts'
import { promptFields } from './upstream-request.ts'
import { askWhole } from './whole-answer.ts'

const maxBytes = 64 * 1024 * 1024

/** Counts, tokenizes and detokenizes with a server's own endpoints: next to `/v1`, or Anthropic's below it. */
export function createTokens(
  server: UpstreamServer,
  { kind, model }: { kind: UpstreamKind; model: string },
): Required<Pick<Model, 'tokenize' | 'count' | 'detokenize'>> {
  async function ask(
    path: string,
    body: object,
    tenant: string,
    signal: AbortSignal,
  ): Promise<Record<string, unknown>> {
    if (!kindsOfUpstreams[kind].tokenizes) {
      throw refuse('upstream_lacks', {
        field: 'model',
        received: 'questions about its tokens',
        accepted: 'a model of this machine, or of a server that can tokenize',
      })
    }
    const written = writeJson({ model, ...body })
    const question = { path: `../${path}`, body: written, tenant, kind, beginning: '' }
    return askWhole(server, { ...question, shows: 'nothing' }, maxBytes, signal)
  }

  async function tokenize(input: Input, tenant: string, signal: AbortSignal): Promise<number[]> {
    if ('tokens' in input) return input.tokens
    const asked =
      'text' in input
        ? { prompt: input.text, add_special_tokens: input.addSpecial }
        : promptFields(input, kind)
    const { tokens } = await ask('tokenize', asked, tenant, signal)
    if (Array.isArray(tokens) && tokens.every((token) => typeof token === 'number')) return tokens
    throw refuse('upstream_failed', { why: 'it sent no tokens' })
  }

  return {
    tokenize,
    async count(input, tenant, signal) {
      if (kind !== 'anthropic') return (await tokenize(input, tenant, signal)).length
      const body = anthropicCountOf(input, model)
      const question = { path: 'messages/count_tokens', body, tenant, kind, beginning: '' }
      const told = await askWhole(server, { ...question, shows: 'nothing' }, maxBytes, signal)
      const tokens = countOf(told.input_tokens)
      if (tokens !== undefined) return tokens
      throw refuse('upstream_failed', { why: 'it sent no number of tokens' })
    },
    async detokenize(tokens, { special, tenant }, signal) {
      if (tokens.length === 0) return ''
      const asked = { tokens, skip_special_tokens: !special }
      const { prompt } = await ask('detokenize', asked, tenant, signal)
      if (typeof prompt === 'string') return prompt
      throw refuse('upstream_failed', { why: 'it sent no text' })
    },
  }
}
