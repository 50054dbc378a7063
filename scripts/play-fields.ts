import { ChatBody } from '../src/operations/chat/contract.ts'
import type { RequestField } from '../ui/screens/play/field.ts'
import { alternativesOf, effectOf, fieldsOf, type Schema, typeOf } from './chat-parameters.ts'

/** The playground's form is generated from this, so that it has every field of a request. */
export function playFieldsFile(): string {
  const { fields } = fieldsOf(ChatBody)
  const shown = fields.filter(({ name }) => name !== 'messages').map(fieldOf)
  return `// Made by \`npm run docs:generate\`; do not edit.
import type { RequestField } from './field.ts'

export const requestFields: readonly RequestField[] = ${JSON.stringify(shown, null, 1)}
`
}

function fieldOf({ name, schema }: { name: string; schema: Schema }): RequestField {
  const kinds = alternativesOf(schema).filter(({ type }) => type !== 'null')
  const choices = kinds.flatMap((one) => one.enum ?? []).filter((one) => typeof one === 'string')
  return {
    name,
    kind: kindOf(kinds),
    range: typeOf(schema)
      .replace(/ or null$/, '')
      .replaceAll('`', ''),
    says: schema.description ?? '',
    ...(schema.default !== undefined && { initial: JSON.stringify(schema.default) }),
    ...(choices.length > 0 && { choices }),
    effect: effectOf(schema),
  }
}

function kindOf(kinds: readonly Schema[]): RequestField['kind'] {
  const types = new Set(kinds.map((one) => (one.enum ? 'choice' : one.type)))
  if (types.size === 1) {
    if (types.has('choice')) return 'choice'
    if (types.has('boolean')) return 'boolean'
    if (types.has('integer') || types.has('number')) return 'number'
    if (types.has('string')) return 'text'
  }
  const isTexts = kinds.every(({ type, items }) => type === 'string' || items?.type === 'string')
  return isTexts && types.has('array') ? 'texts' : 'json'
}
