import { z } from 'zod'
import { jsonObject, jsonValue } from '../../domain/fields.ts'
import { documented, flag, integer } from './scalars.ts'

/** A field that is accepted because clients send it, and of which only the type is checked. */
export const unused = <Schema extends z.ZodType>(schema: Schema, why: string, initial?: false) =>
  documented(schema.nullish(), why, { effect: 'none', initial })

const [shortText, longText] = [z.string().max(64), z.string().max(1_024)]

/** Of OpenAI. Those with a text are passed on to a server elsewhere that knows them. */
export const unusedOpenAiFields = {
  user: unused(longText, 'The caller is identified by its key.'),
  safety_identifier: unused(longText, 'As `user`.'),
  service_tier: unused(shortText, 'There is only one tier.'),
  prompt_cache_key: unused(longText, 'Prompts are cached without it; `cache_salt` separates them.'),
  prompt_cache_options: unused(jsonObject(), 'As `prompt_cache_key`.'),
  prompt_cache_retention: unused(shortText, 'Prompts stay in the cache as long as there is room.'),
}

/** Of vLLM. */
export const unusedVllmFields = {
  kv_transfer_params: unused(jsonObject(), 'For servers that compute prompts elsewhere.'),
  ec_transfer_params: unused(jsonObject(), 'The same for images.'),
  mm_processor_kwargs: unused(jsonObject(), 'For models that accept images.'),
  media_io_kwargs: unused(jsonObject(), 'The same.'),
  return_mm_kwargs: unused(flag(), 'The same.', false),
  return_token_offsets: unused(flag(), 'vLLM has it for prompts that are only rendered.', false),
  routed_experts_prompt_start: unused(integer(0), 'No answer tells which experts computed it.'),
  watermarking: documented(
    z.literal(false, { error: 'is not supported here; answers have no watermark' }).nullish(),
    'Only `false`: answers have no watermark.',
    { effect: 'partly', initial: false },
  ),
  engine_xargs: unused(jsonObject(), 'Strings, numbers and lists of these, for extensions; there are none.'),
  vllm_xargs: unused(jsonObject(), 'Another name of `engine_xargs`.'),
}

/** Of Anthropic. */
export const unusedAnthropicFields = {
  service_tier: unusedOpenAiFields.service_tier,
  speed: unused(shortText, 'There is only one speed.'),
  inference_geo: unused(shortText, 'The model runs here.'),
  context_management: unused(
    jsonValue(),
    'Nothing is removed from a conversation; `applied_edits` of the answer is empty.',
  ),
  diagnostics: unused(jsonValue(), 'Usage tells how many tokens came from the cache, not why.'),
  user_profile_id: unused(longText, 'The caller is identified by its key.'),
  workspace_id: unused(longText, 'The key decides.'),
  billing_policy: unused(jsonValue(), 'Nothing is billed.'),
  fallbacks: unused(jsonValue(), 'The operator names fallbacks of models.'),
  fallback_credit_token: unused(jsonValue(), 'Nothing is billed.'),
}
