import type { Answer } from '../support/app.ts'

/** Removes the names of things, generated ids and times. */
export function withoutNamesAndTimes(
  { status, text }: Pick<Answer, 'status' | 'text'>,
  things: Readonly<Record<string, string>>,
): { status: number; text: string } {
  let plain = text
  for (const [kind, name] of Object.entries(things)) {
    plain = plain.replaceAll(name, `<${kind}>`)
    // A message shows only the beginning of a long name.
    if (name.length === 64) plain = plain.replace(new RegExp(`${name.slice(0, 32)}\\w*…`), `<${kind}>`)
  }
  plain = plain.replace(/[\da-f]{8}(?:-[\da-f]{4}){3}-[\da-f]{12}/g, '<made>')
  return { status, text: plain.replace(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>') }
}
