/** A screen exported as one file, with the answers to all requests that it makes. */
export interface Contents {
  title: string
  project: string
  /** Path of the screen that is shown first. */
  path: string
  madeAt: string
  madeBy: string
  version: string
  /** Sentences that say what the file contains and what it leaves out. */
  holds: readonly string[]
  /** Of a comparison, the number of rows in the file. */
  rows?: number
  answers: readonly (readonly [question: string, answer: string])[]
}

/** The contents that `export/make.ts` has put into the file; undefined in the page of a server. */
function contentsHere(): Contents | undefined {
  const text = globalThis.document?.getElementById('contents')?.textContent
  return text ? (JSON.parse(text) as Contents) : undefined
}

export const contents = contentsHere()

/** What needs a server: undefined in an exported file, where nothing can be changed or requested. */
export const live = <T>(what: T): T | undefined => (contents === undefined ? what : undefined)

export const answers: ReadonlyMap<string, string> = new Map(contents?.answers)

/** Identifies a request: equal requests have the same text. */
export const questionOf = (path: string, sent: string | undefined): string => `${path}\n${sent ?? ''}`
