/** A model never means 0 or 1, however many digits its probability has. */
const minProbability = 1e-12

/** Up to a constant, which shares do not depend on; of two options the last is 0. */
export function logitsOf(probabilities: readonly number[]): number[] {
  const logs = probabilities.map((probability) => Math.log(Math.max(minProbability, probability)))
  const last = logs.at(-1) ?? 0
  return logs.map((log) => log - last)
}

export function sharesOf(logits: readonly number[]): number[] {
  const max = Math.max(...logits)
  const weights = logits.map((logit) => Math.exp(logit - max))
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
}
