import { keys, openApp } from '../../support/app.ts'
import { type ModelText, type SimulatedBackend, simulatedBackend } from '../../support/simulated-backend.ts'

export interface PlayedServer {
  /** The `baseURL` option of OpenAI's clients. */
  baseURL: string
  apiKey: string
  backend: SimulatedBackend
  /** Sets what the model writes, request by request. */
  plays(...texts: ModelText[]): void
  /** The prompts since then, as the model received them. */
  prompts(): string[]
}

/** The server on a separate port, with a model that writes given texts; everything else is real. */
export async function startPlayed(t: {
  after(end: () => Promise<void> | void): void
}): Promise<PlayedServer> {
  const backend = simulatedBackend(t, '')
  const { app } = await openApp(t, { backend })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    baseURL: `${address}/v1`,
    apiKey: keys.alice,
    backend,
    plays(...texts) {
      backend.asked.length = 0
      backend.say = () => {
        const text = texts[backend.asked.length - 1]
        if (text === undefined) throw new Error(`nothing is to be said ${backend.asked.length} times`)
        return text
      }
    },
    prompts: () => backend.asked.map(({ prompt }) => ('text' in prompt ? prompt.text : '')),
  }
}
