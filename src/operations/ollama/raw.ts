import type { Completion } from '../completions/completion.ts'
import { answerOptions } from '../generation/answer-options.ts'
import { wrong } from '../generation/checks.ts'
import { type GenerationContext, generate } from '../generation/generation.ts'
import type { GenerationParts } from '../generation/parts.ts'
import type { GenerateBody } from './contract.ts'
import { findModel } from './models.ts'
import { ignoredOptions } from './options.ts'
import { answerRequest, type Named, namedAs } from './turns.ts'

/** A text that is continued without the template of the model. */
export type OllamaText = Completion & Named

export async function beginText(
  services: GenerationParts,
  body: GenerateBody,
  asking: GenerationContext,
): Promise<OllamaText> {
  const how = body.raw ? 'raw' : 'suffix'
  for (const field of ['system', 'images', 'think'] as const) {
    if (!body[field] || (Array.isArray(body[field]) && body[field].length === 0)) continue
    throw wrong(field, `given with \`${how}\``, 'only without it')
  }
  const found = findModel(services.models, body.model, asking.caller)
  const inputs = [{ text: body.prompt ?? '', addSpecial: true }]
  const request = answerRequest(body, asking, inputs)
  const names = { prompt: 'prompt', maxTokens: 'options.num_predict' }
  const generation = await generate(services, found, request, asking, names)
  const id = `cmpl-${asking.id}`
  return {
    ...generation,
    ...namedAs(body, found, asking),
    ignored: [...generation.ignored, ...ignoredOptions(body.options, found.served.context)],
    id,
    head: { id, object: 'text_completion', ...generation.head },
    openings: [{ echo: '', firstToken: '' }],
    logprobs: body.logprobs ? (body.top_logprobs ?? 0) : undefined,
    candidatesField: 'top_logprobs',
    echoLogprobs: false,
    shown: { ...answerOptions({}), promptLogprobs: false },
  }
}
