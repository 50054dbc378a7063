import { shortened } from '../../domain/described.ts'

/** A part of a prompt: literal text, or the name of a field in braces. */
type TemplatePart = { text: string } | { field: string }

type Template = { segments: TemplatePart[] } | { why: string }

const pieces = /\{\{|\}\}|\{([^{}]*)\}|[{}]|[^{}]+/g

/** `{name}` is a field; `{{` and `}}` are literal braces; any other brace is a mistake. */
export function parseTemplate(template: string): Template {
  const segments: TemplatePart[] = []
  let text = ''
  for (const { 0: piece, 1: field, index } of template.matchAll(pieces)) {
    if (field !== undefined) {
      if (field.trim() === '') return { why: `the braces at character ${index + 1} contain no name` }
      if (text !== '') segments.push({ text })
      text = ''
      segments.push({ field: field.trim() })
    } else if (piece === '{' || piece === '}') {
      const near = JSON.stringify(shortened(template.slice(index), 24))
      return { why: `the "${piece}" at character ${index + 1}, ${near}, has no partner` }
    } else text += piece === '{{' || piece === '}}' ? piece.slice(1) : piece
  }
  if (text !== '') segments.push({ text })
  return { segments }
}

export const fieldsOfTemplate = (segments: readonly TemplatePart[]): string[] => [
  ...new Set(segments.flatMap((segment) => ('field' in segment ? [segment.field] : []))),
]
