import { z } from 'zod'
import { jsonValue } from '../../domain/fields.ts'
import { documented, flag, optIn } from './scalars.ts'

const JsonSchemaFormat = z.object({
  name: z.string().max(256),
  description: z.string().nullish(),
  schema: jsonValue().nullish(),
  strict: optIn(),
})

const constraint = z.string().nullish()

/** The fields that constrain an answer. Chat and text completions share them. */
export const constraintFields = {
  response_format: documented(
    z
      .object({
        type: z.enum(['text', 'json_object', 'json_schema', 'structural_tag']).optional(),
        json_schema: JsonSchemaFormat.nullish(),
        schema: jsonValue().nullish(),
        structures: jsonValue().nullish(),
        triggers: jsonValue().nullish(),
        format: jsonValue().nullish(),
      })
      .nullish(),
    'The form of the answer: `text`; `json_object`, with an optional `schema`; `json_schema`, enforced whether `strict` or not; `structural_tag`, in both forms. `type` may be left out with a `json_schema`. What cannot be guaranteed is refused (docs/structured-output.md).',
  ),
  structured_outputs: documented(
    z
      .object({
        json: jsonValue().nullish(),
        regex: constraint,
        choice: z.array(z.string()).max(4_096).nullish(),
        grammar: constraint,
        json_object: optIn(),
        structural_tag: constraint,
        disable_fallback: flag().optional().meta({ default: false }),
        disable_any_whitespace: flag().optional().meta({ default: false }),
        disable_additional_properties: flag().optional(),
        any_order: flag().optional().meta({ default: false }),
        whitespace_pattern: constraint,
        _backend: constraint,
        _backend_was_auto: flag().optional().meta({ default: false }),
      })
      .nullish(),
    'One of `json` (a JSON Schema or its text), `regex`, `choice`, `grammar` (GBNF), `json_object` and `structural_tag`, with options for how JSON is written: `whitespace_pattern`, `disable_any_whitespace`, `disable_additional_properties` (false leaves objects open, as in JSON Schema), `any_order` (members may come in any order). `disable_fallback`, `_backend` and `_backend_was_auto` have no effect. A request may have one constraint, here or in `response_format`.',
  ),
}
export type ConstraintFields = z.output<z.ZodObject<typeof constraintFields>>
