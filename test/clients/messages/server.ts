import type { TestContext } from 'node:test'
import type { Part } from '../../../packages/chat-format/index.ts'
import type { Generation } from '../../../packages/engine/index.ts'
import { keys, openApp } from '../../support/app.ts'
import { type PartsModel, partsModel } from '../../support/parts-model.ts'
import {
  prefilled,
  type Script,
  type ScriptedBackend,
  scriptedBackend,
  tokens,
} from '../../support/scripted-backend.ts'

export interface MessagesServer {
  /** The `baseURL` option of Anthropic's clients. */
  baseURL: string
  apiKey: string
}

/** The server on a separate port, with a model that follows a script. */
export async function startMessages(
  t: Pick<TestContext, 'after'>,
  script?: Script,
): Promise<MessagesServer & { backend: ScriptedBackend }> {
  const backend = scriptedBackend(script)
  const { app } = await openApp(t, { backend })
  return { baseURL: await app.listen({ host: '127.0.0.1', port: 0 }), apiKey: keys.alice, backend }
}

/** The same with a model that writes these parts, including thoughts. */
export async function startParts(
  t: Pick<TestContext, 'after'>,
  ...parts: Part[]
): Promise<MessagesServer & { model: PartsModel }> {
  const model = partsModel(...parts)
  const { app } = await openApp(t, { model })
  return { baseURL: await app.listen({ host: '127.0.0.1', port: 0 }), apiKey: keys.alice, model }
}

export const weather = {
  name: 'weather',
  description: 'The weather of a city.',
  input_schema: {
    type: 'object',
    properties: { city: { type: 'string' } },
    required: ['city'],
    additionalProperties: false,
  },
} as const

/** The tool; it notes the cities that it was asked for. */
export function lookUp(asked: string[]) {
  return ({ city }: { city: string }): string => {
    asked.push(city)
    return `21 degrees in ${city}`
  }
}

export function promptOf({ prompt }: Generation): string {
  return 'text' in prompt ? prompt.text : ''
}

/** Calls the tool for two cities, and answers once it has both results. */
export const asksTheWeather: Script = function* (request) {
  yield prefilled(request)
  const heard = ['Paris', 'Rome'].every((city) => promptOf(request).includes(`21 degrees in ${city}`))
  const call = (city: string) =>
    `<tool_call>\n{"name": "weather", "arguments": {"city": "${city}"}}\n</tool_call>`
  const text = heard ? 'It is warm.' : `I look.\n${call('Paris')}\n${call('Rome')}`
  for (const piece of text.match(/.{1,5}/gs) ?? []) yield tokens(piece, request)
  yield { kind: 'finished', choice: 0, reason: 'stop', stop: null }
}
