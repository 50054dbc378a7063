import type { TestContext } from 'node:test'
import { keys, openApp } from '../../support/app.ts'
import { type ModelTexts, type SimulatedBackend, simulatedBackend } from '../../support/simulated-backend.ts'

export interface ResponsesServer {
  /** The `baseURL` option of OpenAI's clients. */
  baseURL: string
  apiKey: string
  backend: SimulatedBackend
}

/** The server on a separate port, with a model that follows a script. */
export async function startResponses(
  t: Pick<TestContext, 'after'>,
  say: ModelTexts,
): Promise<ResponsesServer> {
  const backend = simulatedBackend(t, say)
  const { app } = await openApp(t, { backend, sweep: true })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return { baseURL: `${address}/v1`, apiKey: keys.alice, backend }
}

export const weatherSchema = {
  type: 'object',
  properties: { city: { type: 'string' } },
  required: ['city'],
  additionalProperties: false,
} as const

/** Asks the tool for the weather in Rome once, then answers with the last output of a tool. */
export const looksUp: ModelTexts = ({ prompt }) => {
  const text = 'text' in prompt ? prompt.text : ''
  const outputs = [...text.matchAll(/<tool_response>(.*?)<\/tool_response>/gs)]
  const last = outputs.at(-1)?.[1]
  if (last !== undefined) return `It is ${/sunny/.test(last) ? 'sunny' : 'unclear'}.`
  return 'I look.\n<tool_call>\n{"name": "get_weather", "arguments": {"city": "Rome"}}\n</tool_call>'
}
