import type { CodedForm } from './coded-form.ts'
import { gigachat } from './gigachat.ts'
import { harmony } from './harmony.ts'
import { muse } from './muse.ts'

const forms = { harmony, muse, gigachat }

export type CodedFormat = keyof typeof forms

export const codedForms: Readonly<Record<CodedFormat, CodedForm>> = forms

/** The format in which a template has rendered a call. */
export function codedFormatOf(call: string): CodedFormat | undefined {
  return Object.entries(codedForms).find(([, { isWritten }]) => isWritten(call))?.[0] as
    | CodedFormat
    | undefined
}
