import type { Answer } from './app.ts'

/** The whole answer, in the form that tests compare. */
export function whole({ status, json, text }: Answer): { status: number; body: unknown } {
  return { status, body: json ?? text }
}

/** The code of a refusal, in our own envelope, OpenAI's or Anthropic's. */
export function codeOf({ json }: Pick<Answer, 'json'>): unknown {
  return json?.code ?? json?.error?.code ?? json?.error?.details?.error_code
}

/** The texts of an answer in JSON Lines; every line must end with a newline, including the last. */
export function linesOf({ text }: Answer): string[] {
  if (text !== '' && !text.endsWith('\n')) throw new Error('the last line does not end')
  return text.split('\n').slice(0, -1)
}

export function recordsOf(answer: Answer): Record<string, unknown>[] {
  return linesOf(answer).map((line) => JSON.parse(line) as Record<string, unknown>)
}

export function idsOf(answer: Answer): unknown[] {
  return recordsOf(answer).map(({ id }) => id)
}
