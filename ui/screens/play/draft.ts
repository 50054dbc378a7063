const draftName = 'heddle.play'

/** What the playground keeps in the tab. */
export interface Draft {
  turns: string
  openLast: boolean
  a: string
  b: string
  isCompared: boolean
}

export function readDraft(): Draft | undefined {
  try {
    return JSON.parse(sessionStorage.getItem(draftName) ?? 'null') ?? undefined
  } catch {
    return undefined
  }
}

export function writeDraft(draft: Draft): void {
  try {
    sessionStorage.setItem(draftName, JSON.stringify(draft))
  } catch {
    // A conversation beyond what a browser keeps is lost with the tab.
    sessionStorage.removeItem(draftName)
  }
}

/** The settings that somebody tried last: B where two are compared. */
export function draftSettings(): string {
  const draft = readDraft()
  return (draft?.isCompared ? draft.b : draft?.a) ?? ''
}
