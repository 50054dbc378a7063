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

/** Pause in typing after which a draft is stored: storing a conversation of a few megabytes takes a while. */
const restMs = 400

export interface DraftWriter {
  /** Replaces a draft that is not stored yet. It is stored after a pause in typing, or when the page is left. */
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

/** False if it is more than the browser can keep: it is then lost with the tab, and no older draft comes back instead. */
function writeDraft(draft: Draft): boolean {
  try {
    sessionStorage.setItem(draftName, JSON.stringify(draft))
    return true
  } catch {
    sessionStorage.removeItem(draftName)
    return false
  }
}

/** The settings that were tried last: those of B where two are compared. */
export function draftSettings(): string {
  const draft = readDraft()
  return (draft?.isCompared ? draft.b : draft?.a) ?? ''
}
