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

/** So long nobody types before a draft is written: a conversation of a few megabytes takes a while. */
const restMs = 400

export interface DraftWriter {
  /** In place of what was to be kept before, as soon as there is a rest, or the page is left. */
  keep(draftNow: () => Draft): void
  end(): void
}

export function draftWriter(wrote: (isKept: boolean) => void): DraftWriter {
  let wanted: (() => Draft) | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  function write(): void {
    clearTimeout(timer)
    if (wanted !== undefined) wrote(writeDraft(wanted()))
    wanted = undefined
  }
  addEventListener('pagehide', write)
  return {
    keep(draftNow) {
      wanted = draftNow
      clearTimeout(timer)
      timer = setTimeout(write, restMs)
    },
    end() {
      write()
      removeEventListener('pagehide', write)
    },
  }
}

/** False where it is more than a browser keeps: then it is lost with the tab, and nothing older comes back in its place. */
function writeDraft(draft: Draft): boolean {
  try {
    sessionStorage.setItem(draftName, JSON.stringify(draft))
    return true
  } catch {
    sessionStorage.removeItem(draftName)
    return false
  }
}

/** The settings that somebody tried last: B where two are compared. */
export function draftSettings(): string {
  const draft = readDraft()
  return (draft?.isCompared ? draft.b : draft?.a) ?? ''
}
