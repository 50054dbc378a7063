import type { Script } from '../../support/scripted-backend.ts'
import { candidate, prefilled, promptTokensOf } from '../../support/scripted-backend.ts'

/** A model that begins its answer with these characters, by their probabilities; anything else is as good as impossible. */
export function deciding(weights: (prompt: string) => Record<string, number>, cached = 3): Script {
  return function* (request) {
    yield prefilled(request, cached)
    const prompt = String.fromCodePoint(...promptTokensOf(request))
    const next = weights(prompt)
    const logprobOf = (character: string) => Math.log(next[character] ?? 1e-12)
    const top = (request.logprobTokens ?? []).map((token) => {
      const character = String.fromCodePoint(token)
      return candidate(character, logprobOf(character))
    })
    const [likeliest = '?'] = Object.keys(next).sort((a, b) => logprobOf(b) - logprobOf(a))
    const drawn = candidate(likeliest, logprobOf(likeliest))
    const logprobs = [{ ...drawn, top: [drawn, ...top] }]
    yield { kind: 'tokens', choice: 0, text: likeliest, tokens: [drawn.token], logprobs }
    yield { kind: 'finished', choice: 0, reason: 'length', stop: null }
  }
}
