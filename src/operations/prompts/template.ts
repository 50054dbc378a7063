import { parseTemplate } from '../scorers/template.ts'

/** A text with variables: literal text, or the name of a variable. */
export type Segments = readonly ({ text: string } | { variable: string })[]

/**
 * Reads a text as Weave's clients do. Python formats it (`{name}`, with `{{` and `}}` for braces); what Python would
 * refuse, such as an example in JSON, is read as in TypeScript: `{name}` is a variable, and any other brace stays.
 */
export function segmentsOf(text: string): { segments: Segments } | { why: string } {
  const format = /(?<!\{)\{\w+:[^{}]+\}/.exec(text)?.[0]
  if (format !== undefined) return { why: `its text has the format ${JSON.stringify(format)}` }
  const parsed = parseTemplate(text)
  const isFormat =
    'segments' in parsed &&
    parsed.segments.every((segment) => 'text' in segment || /^\w+$/.test(segment.field))
  if (!isFormat) return { segments: looseSegments(text) }
  return {
    segments: parsed.segments.map((segment) => ('text' in segment ? segment : { variable: segment.field })),
  }
}

function looseSegments(text: string): Segments {
  return text
    .split(/\{(\w+)\}/)
    .map((piece, index) => (index % 2 === 0 ? { text: piece } : { variable: piece }))
    .filter((segment) => 'variable' in segment || segment.text !== '')
}

/** Values are inserted once and not read again: a value that looks like a variable stays text. */
export function filledText(segments: Segments, textFor: (variable: string) => string): string {
  let filled = ''
  for (const segment of segments) filled += 'text' in segment ? segment.text : textFor(segment.variable)
  return filled
}

/** Its own text; nothing is spelled across a variable. */
export const literalText = (segments: Segments) => filledText(segments, () => '\0')
