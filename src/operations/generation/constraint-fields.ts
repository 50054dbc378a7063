import { z } from 'zod'
import { explained, jsonValue } from '../../domain/fields.ts'
import { documented, flag, optIn } from './scalars.ts'

const JsonSchemaFormat = z.object(
  explained(
    {
      name: z.string().max(256),
      description: z.string().nullish(),
      schema: jsonValue().nullish(),
      strict: optIn(),
    },
    {
      name: 'A name for the schema. It has no effect.',
      description: 'It has no effect.',
      schema: 'The JSON Schema that the answer fits.',
      strict: 'No effect: the schema is always enforced.',
    },
  ),
)

const constraint = z.string().nullish()

const ResponseFormat = z.object(
  explained(
    {
      type: z.enum(['text', 'json_object', 'json_schema', 'structural_tag']).optional(),
      json_schema: JsonSchemaFormat.nullish(),
      schema: jsonValue().nullish(),
      structures: jsonValue().nullish(),
      triggers: jsonValue().nullish(),
      format: jsonValue().nullish(),
    },
    {
      type: 'The form; may be left out with a `json_schema`.',
      json_schema: 'With the type `json_schema`: the schema.',
      schema: 'With the type `json_object`: a JSON Schema for the object.',
      structures: 'With the type `structural_tag`, in its older form: begin, schema and end of each tag.',
      triggers: 'With the type `structural_tag`, in its older form: the texts with which tags begin.',
      format: 'With the type `structural_tag`, in its newer form: the format.',
    },
  ),
)

const noEffect = () => flag().optional().meta({ default: false })

const StructuredOutputs = z.object(
  explained(
    {
      json: jsonValue().nullish(),
      regex: constraint,
      choice: z.array(z.string()).max(4_096).nullish(),
      grammar: constraint,
      json_object: optIn(),
      structural_tag: constraint,
      disable_fallback: noEffect(),
      disable_any_whitespace: flag().optional().meta({ default: false }),
      disable_additional_properties: flag().optional(),
      any_order: flag().optional().meta({ default: false }),
      whitespace_pattern: constraint,
      _backend: constraint,
      _backend_was_auto: noEffect(),
    },
    {
      json: 'A JSON Schema, or its text.',
      regex: 'A regular expression, for the whole answer.',
      choice: 'The answer is one of these texts.',
      grammar: 'A grammar in GBNF.',
      json_object: 'The answer is any JSON object.',
      structural_tag: 'A structural tag as JSON text, in either form.',
      disable_fallback: 'No effect.',
      disable_any_whitespace: 'If true, JSON has no white space between its tokens.',
      disable_additional_properties: 'If false, objects may have members that the schema does not name.',
      any_order: 'If true, the members of an object may come in any order.',
      whitespace_pattern: 'A regular expression for the white space between the tokens of JSON.',
      _backend: 'No effect.',
      _backend_was_auto: 'No effect.',
    },
  ),
)

/** The fields that constrain an answer. Chat and text completions share them. */
export const constraintFields = {
  response_format: documented(
    ResponseFormat.nullish(),
    'The form of the answer (docs/structured-output.md): `text`; `json_object`, with an optional `schema`; `json_schema`, enforced whether `strict` or not; `structural_tag`, in both forms. `type` may be left out with a `json_schema`.',
  ),
  structured_outputs: documented(
    StructuredOutputs.nullish(),
    'One of `json` (a JSON Schema or its text), `regex`, `choice`, `grammar` (GBNF), `json_object` and `structural_tag` (docs/structured-output.md), and how JSON is written: `whitespace_pattern`, `disable_any_whitespace`, `disable_additional_properties`, `any_order`. `disable_fallback`, `_backend` and `_backend_was_auto` have no effect.',
  ),
}
export type ConstraintFields = z.output<z.ZodObject<typeof constraintFields>>
