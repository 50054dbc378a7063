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
  const changed = texts.map(({ text, root }) => {
    const before = asText(text)
    const after = root === undefined ? redactor.text(before) : redactor.json(before, root)
    if (after === before) return undefined
    return isSharedText(text) ? sharedText(after) : after
  })
  return { texts: changed, counts: redactor.counts() }
}
