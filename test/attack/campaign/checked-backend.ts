import { loadInProcess } from '../../../packages/engine/index.ts'
import { withRefusals } from '../../../src/inference/engine-refusals.ts'
import {
  type ScriptedBackend,
  scriptedBackend,
  scriptedModel,
  tokensOf,
} from '../../support/scripted-backend.ts'

const { checkGeneration, checkTokens } = await loadInProcess()

/** The scripted model behind the checks of the engine: requests that the engine would refuse never reach it. */
export function checkedBackend(): ScriptedBackend {
  const backend = scriptedBackend()
  const { vocabulary: size, context } = scriptedModel
  const vocabulary = { size, eos: 0, ends: [], bytes: () => new Uint8Array(), isSpecial: () => false }
  return withRefusals({
    ...backend,
    async detokenize(tokens, ...rest) {
      checkTokens('tokens', tokens, size)
      return backend.detokenize(tokens, ...rest)
    },
    async generate(request, signal) {
      checkGeneration(request, { vocabulary, tokenize: tokensOf }, { context, parallel: 8 })
      return backend.generate(request, signal)
    },
  })
}
