import { shortened } from '../../domain/described.ts'

/** A part of a prompt: literal text, or the name of a field in braces. */
type TemplatePart = { text: string } | { field: string }

type Template = { parts: TemplatePart[] } | { why: string }

const pieces = /\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+/g

/** `{name}` is a field; `{{` and `}}` are literal braces; any other brace is a mistake. */
export function parseTemplate(template: string): Template {
  const parts: TemplatePart[] = []
  let text = ''
  for (const { 0: piece, 1: field, index } of template.matchAll(pieces)) {
    if (field !== undefined) {
      if (field.trim() === '') return { why: `the braces at character ${index + 1} contain no name` }
      if (text !== '') parts.push({ text })
      text = ''
      parts.push({ field: field.trim() })
    } else if (piece === '{' || piece === '}') {
      const near = JSON.stringify(shortened(template.slice(index), 24))
      return { why: `the "${piece}" at character ${index + 1}, ${near}, has no partner` }
    } else text += piece === '{{' || piece === '}}' ? piece.slice(1) : piece
  }
  if (text !== '') parts.push({ text })
  return { parts }
}

export const fieldsOfTemplate = (parts: readonly TemplatePart[]): string[] => [
  ...new Set(parts.flatMap((part) => ('field' in part ? [part.field] : []))),
]
