import { z } from 'zod'
import { explainedObject, jsonValue } from '../../domain/fields.ts'
import { documented, flag, optIn } from './scalars.ts'

const JsonSchemaFormat = explainedObject({
  name: [z.string().max(256), 'A name for the schema. It has no effect.'],
  description: [z.string().nullish(), 'It has no effect.'],
  schema: [jsonValue().nullish(), 'The JSON Schema that the answer fits.'],
  strict: [optIn(), 'No effect: the schema is always enforced.'],
})

const constraint = z.string().nullish()

const ResponseFormat = explainedObject({
  type: [
    z.enum(['text', 'json_object', 'json_schema', 'structural_tag']).optional(),
    'The form; may be left out with a `json_schema`.',
  ],
  json_schema: [JsonSchemaFormat.nullish(), 'With the type `json_schema`: the schema.'],
  schema: [jsonValue().nullish(), 'With the type `json_object`: a JSON Schema for the object.'],
  structures: [
    jsonValue().nullish(),
    'With the type `structural_tag`, in its older form: begin, schema and end of each tag.',
  ],
  triggers: [
    jsonValue().nullish(),
    'With the type `structural_tag`, in its older form: the texts with which tags begin.',
  ],
  format: [jsonValue().nullish(), 'With the type `structural_tag`, in its newer form: the format.'],
})

const noEffect = () => flag().optional().meta({ default: false })

const StructuredOutputs = explainedObject({
  json: [jsonValue().nullish(), 'A JSON Schema, or its text.'],
  regex: [constraint, 'A regular expression, for the whole answer.'],
  choice: [z.array(z.string()).max(4_096).nullish(), 'The answer is one of these texts.'],
  grammar: [constraint, 'A grammar in GBNF.'],
  json_object: [optIn(), 'The answer is any JSON object.'],
  structural_tag: [constraint, 'A structural tag as JSON text, in either form.'],
  disable_fallback: [noEffect(), 'No effect.'],
  disable_any_whitespace: [
    flag().optional().meta({ default: false }),
    'If true, JSON has no white space between its tokens.',
  ],
  disable_additional_properties: [
    flag().optional(),
    'If false, objects may have members that the schema does not name.',
  ],
  any_order: [
    flag().optional().meta({ default: false }),
    'If true, the members of an object may come in any order.',
  ],
  whitespace_pattern: [constraint, 'A regular expression for the white space between the tokens of JSON.'],
  _backend: [constraint, 'No effect.'],
  _backend_was_auto: [noEffect(), 'No effect.'],
})

/** The fields that constrain an answer. Chat and text completions share them. */
export const constraintFields = {
  response_format: documented(
    ResponseFormat.nullish(),
    'The form of the answer (docs/structured-output.md): `text`; `json_object`, with an optional `schema`; `json_schema`; `structural_tag`. `type` may be left out with a `json_schema`.',
  ),
  structured_outputs: documented(
    StructuredOutputs.nullish(),
    'One of `json` (a JSON Schema or its text), `regex`, `choice`, `grammar`, `json_object` and `structural_tag` (docs/structured-output.md), and how JSON is written: `whitespace_pattern`, `disable_any_whitespace`, `disable_additional_properties`, `any_order`.',
  ),
}
export type ConstraintFields = z.output<z.ZodObject<typeof constraintFields>>
