import type { Constraint } from '../../../packages/chat-format/index.ts'
import type { ConstraintOptions } from '../../../packages/constraints/index.ts'
import { exactValue, type JsonText } from '../../domain/json/text.ts'
import { refuse, wrong } from '../../domain/refusals.ts'
import type { CompileQuestion } from '../../inference/constraints/constraint.ts'

import type { ConstraintFields } from './constraint-fields.ts'
import type { SamplingFields } from './sampling-fields.ts'

type Format = NonNullable<ConstraintFields['response_format']>
type Outputs = NonNullable<ConstraintFields['structured_outputs']>

interface Asked {
  constraint: Constraint
  field: string
}

const kinds = ['json', 'regex', 'choice', 'grammar', 'json_object', 'structural_tag'] as const
const accepted = `one of ${kinds.join(', ')}`

/** The constraint that response_format and structured_outputs ask for; undefined when the answer is free. */
export function constraintOf(
  body: ConstraintFields & Pick<SamplingFields, 'use_beam_search'>,
): CompileQuestion | undefined {
  const format = body.response_format == null ? undefined : formatConstraint(body.response_format)
  const outputs = body.structured_outputs == null ? undefined : outputsConstraint(body.structured_outputs)
  if (body.structured_outputs != null && format === undefined && outputs === undefined) {
    throw wrong('structured_outputs', 'an object without a constraint', accepted)
  }
  const asked = outputs ?? format
  if (asked === undefined) return undefined
  if (outputs && format && JSON.stringify(outputs.constraint) !== JSON.stringify(format.constraint)) {
    throw wrong(
      'structured_outputs',
      `${outputs.constraint.kind} together with a response_format`,
      'one constraint per request',
    )
  }
  if (body.use_beam_search) {
    const field = asked.field.split('.')[0] as string
    throw refuse('not_available', {
      field,
      received: 'a constraint with use_beam_search',
      accepted: 'only one of the two',
    })
  }
  return { ...asked, options: optionsOf(body.structured_outputs) }
}

const membersOfTypes = {
  json_object: ['schema'],
  json_schema: ['json_schema'],
  structural_tag: ['structures', 'triggers', 'format'],
} as const

/** A schema under the wrong type would be dropped in silence, and the answer would not fit it. A text fits none. */
function refuseOtherMembers(format: Format, type: keyof typeof membersOfTypes): void {
  for (const [other, members] of Object.entries(membersOfTypes)) {
    const member = other === type ? undefined : members.find((name) => format[name] != null)
    if (member !== undefined)
      throw wrong(`response_format.${member}`, `given with the type "${type}"`, `only with "${other}"`)
  }
}

function formatConstraint(format: Format): Asked | undefined {
  // The specification shows the schema without a type.
  const type = format.type ?? (format.json_schema == null ? undefined : 'json_schema')
  if (type === undefined) {
    throw wrong('response_format.type', 'nothing', '"text", "json_object", "json_schema" or "structural_tag"')
  }
  if (format.type != null && type !== 'text') refuseOtherMembers(format, type)
  switch (type) {
    case 'text':
      return undefined
    case 'json_object':
      return format.schema == null
        ? { constraint: { kind: 'json_object' }, field: 'response_format' }
        : schemaConstraint(format.schema, 'response_format.schema')
    case 'json_schema': {
      const { json_schema: named } = format
      if (named == null)
        throw wrong('response_format.json_schema', 'nothing', 'an object with a name and a schema')
      if (named.schema == null) throw wrong('response_format.json_schema.schema', 'nothing', 'a JSON Schema')
      return schemaConstraint(named.schema, 'response_format.json_schema.schema')
    }
    case 'structural_tag': {
      const members = Object.entries({
        structures: format.structures,
        triggers: format.triggers,
        format: format.format,
      }).flatMap(([name, member]) => (member == null ? [] : [[name, member.exact]]))
      const tag: unknown = { type: 'structural_tag', ...Object.fromEntries(members) }
      return { constraint: { kind: 'structural_tag', tag }, field: 'response_format' }
    }
  }
}

function outputsConstraint(outputs: Outputs): Asked | undefined {
  const chosen = kinds.filter((kind) => outputs[kind] != null)
  if (chosen.length > 1) {
    throw wrong('structured_outputs', chosen.join(' and '), `one of ${kinds.join(', ')}, and no other`)
  }
  const [kind] = chosen
  return kind && outputsOf(kind, outputs)
}

function outputsOf(kind: (typeof kinds)[number], outputs: Outputs): Asked | undefined {
  const field = `structured_outputs.${kind}`
  const { json, regex, choice, grammar, structural_tag: tag } = outputs
  if (json != null) {
    const value = json.exact
    if (typeof value === 'string')
      return { constraint: { kind: 'json', schema: parsed(value, field) }, field }
    return schemaConstraint(json, field)
  }
  if (regex != null) return { constraint: { kind: 'regex', regex }, field }
  if (choice != null) return { constraint: { kind: 'choice', choices: choice }, field }
  if (grammar != null) return { constraint: { kind: 'grammar', grammar }, field }
  if (tag != null) return { constraint: { kind: 'structural_tag', tag }, field }
  if (outputs.json_object === false) throw wrong(field, 'false', 'true, or null')
  return { constraint: { kind: 'json_object' }, field }
}

function schemaConstraint({ exact: schema, text }: JsonText, field: string): Asked {
  if (!text.startsWith('{')) throw notSchema(text, field)
  return { constraint: { kind: 'json', schema }, field }
}

function parsed(text: string, field: string): unknown {
  let value: unknown
  try {
    value = exactValue(text)
  } catch (error) {
    throw refuse('constraint_invalid', { field, why: `its text is not JSON: ${(error as Error).message}` })
  }
  if (text.trimStart().startsWith('{')) return value
  throw notSchema(text, field)
}

const notSchema = (text: string, field: string) =>
  wrong(field, text.slice(0, 40), 'a JSON Schema that is an object')

function optionsOf(outputs: Outputs | null | undefined): ConstraintOptions {
  const {
    whitespace_pattern: pattern,
    disable_any_whitespace: none,
    disable_additional_properties: closed,
    any_order: anyOrder,
  } = outputs ?? {}
  if (none && pattern != null) {
    throw wrong(
      'structured_outputs.whitespace_pattern',
      'a pattern together with disable_any_whitespace',
      'only one of the two',
    )
  }
  return {
    whitespace: none ? 'none' : pattern == null ? 'bounded' : { pattern },
    ...(closed !== undefined && { additionalProperties: !closed }),
    ...(anyOrder && { anyOrder }),
  }
}
