import type { Part } from '../../packages/chat-format/index.ts'
import type { FinishReason } from '../../packages/engine/index.ts'
import type { AnswerRequest, Model } from '../../src/inference/model.ts'
import { scriptedModel, tokensOf } from './scripted-backend.ts'

export interface PartsModel extends Model {
  /** The requests to it, in order. */
  asked: AnswerRequest[]
  parts: Part[]
  finish: { reason: FinishReason; stop: string | number | null }
  /** How many tokens of a prompt of ten were reused. */
  cached: number
  widened: string[]
}

/** A model that answers with these parts, each with one token. Reading parts from a text is not involved. */
export function partsModel(...parts: Part[]): PartsModel {
  const model: PartsModel = {
    asked: [],
    parts,
    finish: { reason: 'stop', stop: null },
    cached: 3,
    widened: [],
    status: () => ({ state: 'ready', running: 0, waiting: 0 }),
    served: () => scriptedModel,
    format: async () => undefined,
    async answer(request) {
      model.asked.push(request)
      const { parts: said, finish, cached } = model
      const isThought = (index: number) => said[index]?.kind === 'reasoning'
      async function* events() {
        yield [{ kind: 'prefilled' as const, input: 0, cachedTokens: cached }]
        for (const index of said.keys()) {
          yield [{ kind: 'tokens' as const, choice: 0, text: String(index), tokens: [index] }]
        }
        yield [{ kind: 'finished' as const, choice: 0, ...finish }]
      }
      return {
        prompts: [Array.from({ length: 10 }, (_, index) => index)],
        events: events(),
        widened: model.widened,
        createParser() {
          let next = 0
          return {
            push(text) {
              next = Number(text) + 1
              return [said[Number(text)] as Part]
            },
            end: () => [],
            get isThinking() {
              return isThought(next)
            },
          }
        },
      }
    },
    async pool() {
      throw new Error('this model writes')
    },
    async decide() {
      throw new Error('this model writes')
    },
    async tokenize(input) {
      return tokensOf(JSON.stringify(input))
    },
    async detokenize(tokens) {
      return String.fromCodePoint(...tokens)
    },
    async close() {},
  }
  return model
}
