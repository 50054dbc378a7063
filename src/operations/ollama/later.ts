import { createRequire } from 'node:module'
import { extname } from 'node:path'
import { z } from 'zod'

/**
 * The contracts of Ollama's wire. They are loaded when the first request needs one: most servers never get any, and the
 * contracts take as much memory as those of all routes of the record together.
 */

const read = createRequire(import.meta.url)
const file = (name: string) => `./${name}${extname(import.meta.url)}`
const bodies = () => read(file('contract')) as typeof import('./contract.ts')
const answers = () => read(file('answer-contract')) as typeof import('./answer-contract.ts')

export const LaterChatBody = z.lazy(() => bodies().OllamaChatBody)
export const LaterGenerateBody = z.lazy(() => bodies().GenerateBody)
export const LaterEmbedBody = z.lazy(() => bodies().EmbedBody)
export const LaterPromptEmbedBody = z.lazy(() => bodies().PromptEmbedBody)
export const LaterShowBody = z.lazy(() => bodies().ShowBody)
export const LaterPullBody = z.lazy(() => bodies().PullBody)

type AnswerName = keyof typeof import('./answer-contract.ts')

/** An answer as it is described and, in tests, checked. */
export const laterAnswer = (name: AnswerName) =>
  z.lazy(() => answers()[name]).meta({ description: 'In the form of Ollama.' })
