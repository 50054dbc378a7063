import { writeJson } from '../../domain/json/text.ts'
import { refuse } from '../../domain/refusals.ts'
import type { Input, Model } from '../model.ts'
import { kindsOfUpstreams, type UpstreamKind } from './kinds.ts'
import type { UpstreamServer } from './server.ts'
import { promptFields } from './upstream-request.ts'
import { askWhole } from './whole-answer.ts'

const maxBytes = 64 * 1024 * 1024

/** Tokenizes and detokenizes with a server's own endpoints next to `/v1`. */
export function createTokens(
  server: UpstreamServer,
  { kind, model }: { kind: UpstreamKind; model: string },
): Pick<Model, 'tokenize' | 'detokenize'> {
  async function ask(path: string, body: object, signal: AbortSignal): Promise<Record<string, unknown>> {
    if (!kindsOfUpstreams[kind].tokenizes) {
      throw refuse('upstream_lacks', {
        field: 'model',
        received: 'questions about its tokens',
        accepted: 'a model of this machine, or of a server that can tokenize',
      })
    }
    const question = { path: `../${path}`, body: writeJson({ model, ...body }), kind, beginning: '' }
    return askWhole(server, { ...question, shows: 'nothing' }, maxBytes, signal)
  }

  return {
    async tokenize(input: Input, _tenant, signal) {
      if ('tokens' in input) return input.tokens
      const asked =
        'text' in input
          ? { prompt: input.text, add_special_tokens: input.addSpecial }
          : promptFields(input, kind)
      const { tokens } = await ask('tokenize', asked, signal)
      if (Array.isArray(tokens) && tokens.every((token) => typeof token === 'number')) return tokens
      throw refuse('upstream_failed', { why: 'it sent no tokens' })
    },
    async detokenize(tokens, { special }, signal) {
      if (tokens.length === 0) return ''
      const { prompt } = await ask('detokenize', { tokens, skip_special_tokens: !special }, signal)
      if (typeof prompt === 'string') return prompt
      throw refuse('upstream_failed', { why: 'it sent no text' })
    },
  }
}
