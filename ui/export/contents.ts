/** A screen that was exported as one file: everything that it asks for is answered within. */
export interface Contents {
  title: string
  project: string
  /** The place that is shown first. */
  path: string
  madeAt: string
  madeBy: string
  version: string
  /** What is within and what is not, a sentence each. */
  holds: readonly string[]
  /** Of a comparison, how many rows are within. */
  rows?: number
  answers: readonly (readonly [question: string, answer: string])[]
}

/** What `export/make.ts` has put into the file; undefined where this is the page of a server. */
function contentsHere(): Contents | undefined {
  const text = globalThis.document?.getElementById('contents')?.textContent
  return text ? (JSON.parse(text) as Contents) : undefined
}

export const contents = contentsHere()

declare global {
  /**
   * Nothing can be changed, and nobody asked: what would do either is left out of a file. The build writes true or false for it,
   * so that neither the page nor the file carries the code of the other.
   */
  const isFile: boolean
}

export const answers: ReadonlyMap<string, string> = new Map(contents?.answers)

/** The same request is the same question. */
export const questionOf = (path: string, sent: string | undefined): string => `${path}\n${sent ?? ''}`
