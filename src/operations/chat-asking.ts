import type { JsonText } from '../domain/json/text.ts'
import type { GenerationContext } from './generation/generation.ts'
import type { GenerationParts } from './generation/parts.ts'

/** The first answer to a chat, without its stream. */
export interface ChatAnswered {
  /** The model that answered. */
  model: string
  /** The text; the calls of tools where there is none. */
  output: JsonText
  /** The whole completion, as a client would get it. */
  completion: JsonText
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}

/** For work of the server that asks as clients do. `request` is the body of a chat completion, as JSON. */
export interface ChatAsking {
  /** The model that it names. Refuses what the contract refuses. */
  modelOf(request: string): Promise<string | null | undefined>
  /** Refuses fields that no chat completion has: nobody reads the headers of its answers. */
  checkFields(request: string): Promise<void>
  ask(services: GenerationParts, request: string, asking: GenerationContext): Promise<ChatAnswered>
}
