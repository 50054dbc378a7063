import type { SimulatedBackend } from '../support/simulated-backend.ts'

/** Answers to prompts with this word are held back until they are let go. */
export function holdAnswers(backend: SimulatedBackend, word: string) {
  const { generate } = backend
  const held = { count: 0, ...Promise.withResolvers<void>() }
  backend.generate = async (generation, signal) => {
    if (JSON.stringify(generation.prompt).includes(word)) {
      held.count++
      await held.promise
    }
    return generate(generation, signal)
  }
  return held
}
