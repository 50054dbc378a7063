import type { Sampling } from '../../packages/engine/index.ts'

export interface NaiveCase {
  logits: Float32Array
  sampling: Omit<Sampling, 'badWords' | 'seed'>
  prompt: number[]
  answer: number[]
  banned: number[]
  random: number
}

/** The token that the definition draws: over the whole vocabulary, step by step, in numbers of 32 bits as logits are. */
export function naiveDraw({
  logits,
  sampling,
  prompt,
  answer,
  banned,
  random,
}: NaiveCase): number | undefined {
  const adjusted = [...logits].map((logit, token) => {
    if (sampling.allowed && !sampling.allowed.includes(token)) return -Infinity
    if (banned.includes(token)) return -Infinity
    const biases = sampling.bias.filter(([biased]) => biased === token)
    let value = Math.fround(logit + biases.reduce((sum, [, bias]) => sum + bias, 0))
    if (prompt.includes(token) || answer.includes(token)) {
      const { repetitionPenalty } = sampling
      value = Math.fround(value > 0 ? value / repetitionPenalty : value * repetitionPenalty)
    }
    const times = answer.filter((other) => other === token).length
    if (times > 0) value -= times * sampling.frequencyPenalty + sampling.presencePenalty
    return Math.fround(value)
  })
  let line = adjusted
    .map((logit, token) => ({ logit, token, weight: 0 }))
    .filter(({ logit }) => logit > -Infinity)
    .sort((a, b) => b.logit - a.logit || a.token - b.token)
  const first = line[0]
  if (first === undefined) return undefined
  if (sampling.temperature < 1e-5) return first.token

  const temperature = Math.max(0.01, sampling.temperature)
  line = line.map((entry) => ({ ...entry, weight: Math.exp((entry.logit - first.logit) / temperature) }))
  if (sampling.minP > 0) {
    line = line.filter(({ logit }) => logit >= first.logit + temperature * Math.log(sampling.minP))
  }
  if (sampling.topK > 0) line = line.slice(0, sampling.topK)
  if (sampling.topP < 1) {
    const limit = sampling.topP * weightOf(line)
    let before = 0
    line = line.filter(({ weight }) => {
      const isIn = before < limit
      before += weight
      return isIn
    })
  }
  const point = random * weightOf(line)
  let end = 0
  for (const { weight, token } of line) {
    end += weight
    if (end > point) return token
  }
  return line.at(-1)?.token
}

function weightOf(line: { weight: number }[]): number {
  return line.reduce((sum, { weight }) => sum + weight, 0)
}
