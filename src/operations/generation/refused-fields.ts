import { z } from 'zod'
import { documented } from './scalars.ts'

/**
 * A field of other servers whose effect an answer here would silently lack. It is refused, and the refusal names what
 * to use.
 */
export const refused = (instead: string) =>
  documented(
    z.null({ error: `is not supported here; ${instead}` }).optional(),
    `Not supported: ${instead}.`,
    {
      effect: 'refused',
    },
  )

/** How vLLM asked for constraints before `structured_outputs`. */
export const formerConstraintFields = {
  guided_json: refused('use structured_outputs.json, or response_format'),
  guided_json_object: refused('use structured_outputs.json_object, or response_format'),
  guided_regex: refused('use structured_outputs.regex'),
  guided_choice: refused('use structured_outputs.choice'),
  guided_grammar: refused('use structured_outputs.grammar'),
  guided_whitespace_pattern: refused('use structured_outputs.whitespace_pattern'),
  guided_decoding_backend: refused('leave it out, because there is only one way to enforce a constraint'),
}

export const moderation = refused('ask a moderation model separately, because answers are not moderated')

export const refusedChatFields = {
  ...formerConstraintFields,
  modalities: documented(
    z
      .array(z.literal('text', { error: 'is not supported here; answers are only "text"' }))
      .max(16)
      .nullish(),
    'Only `["text"]`: answers are text.',
  ),
  audio: refused('leave it out, because answers are text'),
  web_search_options: refused('offer a search function in tools'),
  moderation,
}
