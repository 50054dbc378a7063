import type { Redaction, Redactor } from '../../../packages/redaction/index.ts'
import { asText, isSharedText, type SharedText, sharedText } from '../../domain/json/text.ts'

/** What is replaced in a project. */
export interface RedactionRules {
  redaction: Redaction
  /** Makes hashes that cannot be guessed; empty if no rule makes one. */
  secret: string
}

/** A text, or JSON whose paths begin with `root`. */
export interface TextToRedact {
  text: string | SharedText
  root?: string
}

export interface RedactedTexts {
  /** Undefined for a text in which nothing is replaced. */
  texts: readonly (string | SharedText | undefined)[]
  counts: Readonly<Record<string, number>>
}

export interface RedactionQuestion extends RedactionRules {
  texts: readonly TextToRedact[]
}

export type RedactionAnswer = RedactedTexts | { fault: { index: number; why: string } }

export function redactAll(redactor: Redactor, texts: readonly TextToRedact[]): RedactedTexts {
  let failed = 0
  const changed = texts.map((written) => {
    const { text, root } = written
    const before = asText(text)
    try {
      const after = root === undefined ? redactor.text(before) : redactor.json(before, root)
      if (after === before) return undefined
      return isSharedText(text) ? sharedText(after) : after
    } catch {
      failed++
      return markerOf(written)
    }
  })
  return { texts: changed, counts: { ...redactor.counts(), ...(failed > 0 && { failed }) } }
}

const marker = '[redaction failed]'

function markerOf({ text, root }: TextToRedact): string {
  if (root === undefined) return marker
  return JSON.stringify(asText(text).startsWith('{') ? { redacted: marker } : marker)
}

/** What could not be read in time is not stored. */
export const withoutTexts = (texts: readonly TextToRedact[]): RedactedTexts => ({
  texts: texts.map(markerOf),
  counts: { failed: texts.length },
})
