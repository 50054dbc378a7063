import type { Backend, Generation, GenerationEvent, Run } from './backend.ts'
import { type Compiling, createCompiling } from './constraints/compiling.ts'
import { merged } from './merged.ts'
import type { AnswerEvent, Input, Model } from './model.ts'
import { renderConversation } from './prompt/chat-prompt.ts'
import { createPrompts, type Prompts } from './prompt/prompts.ts'
import { createModels, type Models } from './registry.ts'
import { notReady } from './served-model.ts'

interface LocalModelParts {
  /** Renders conversations. */
  prompts: Prompts
  /** Compiles constraints. */
  compiling: Compiling
}

/** The models of a server with one engine of its own, and what they share. */
export function localModels(engine: Backend): Models {
  const prompts = createPrompts()
  const compiling = createCompiling()
  return createModels([createLocalModel(engine, { prompts, compiling })], async () => {
    await Promise.all([prompts.close(), compiling.close()])
  })
}

/** A model that the embedded engine runs: constraints are compiled and conversations rendered before the engine sees a prompt. */
function createLocalModel(engine: Backend, { prompts, compiling }: LocalModelParts): Model {
  async function promptOf(input: Input, tenant: string, signal: AbortSignal): Promise<Generation['prompt']> {
    if ('tokens' in input) return input
    const { addSpecial: add } = input
    if ('text' in input) return { text: input.text, special: true, add }
    const served = engine.model()
    if (served === undefined) throw notReady(engine.status())
    return {
      text: await renderConversation(prompts, served, tenant, input.conversation, signal),
      special: true,
      add,
    }
  }

  return {
    status: () => engine.status(),
    served: () => engine.model(),
    async answer({ inputs, constraint: asked, turn: _turn, ...request }, clientSignal) {
      const { tenant } = request
      const constraint = asked && {
        grammar: await compiling.compile(tenant, asked, clientSignal),
        field: asked.field,
      }
      const cancelling = new AbortController()
      const signal = inputs.length === 1 ? clientSignal : AbortSignal.any([clientSignal, cancelling.signal])
      const runs: Run[] = []
      try {
        // One after the other: they are to be queued in their order.
        for (const input of inputs) {
          const prompt = await promptOf(input, tenant, signal)
          runs.push(await engine.generate({ ...request, prompt, ...(constraint && { constraint }) }, signal))
        }
      } catch (error) {
        cancelling.abort(error)
        throw error
      }
      const sources = runs.map(({ events }, input) => numbered(events, input, request.choices))
      const [only] = sources
      return {
        prompts: runs.map(({ promptTokens }) => promptTokens),
        events:
          only !== undefined && sources.length === 1
            ? only
            : merged(sources, () => cancelling.abort(new Error('the answer is over'))),
      }
    },
    async tokenize(input, tenant, signal) {
      const prompt = await promptOf(input, tenant, signal)
      if ('tokens' in prompt) return prompt.tokens
      return engine.tokenize(prompt.text, { special: prompt.special, add: prompt.add }, signal)
    },
    detokenize: (...given) => engine.detokenize(...given),
    close: () => engine.close(),
  }
}

/** The events of one run with the numbers that they have among all inputs. */
async function* numbered(
  events: AsyncIterable<GenerationEvent[]>,
  input: number,
  choices: number,
): AsyncGenerator<AnswerEvent[]> {
  const first = input * choices
  for await (const group of events) {
    yield group.map((event) => {
      if (event.kind === 'prefilled') return { ...event, input }
      return first === 0 ? event : { ...event, choice: first + event.choice }
    })
  }
}
