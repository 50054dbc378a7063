import type { Draft } from '../../review/draft.ts'
import type { Save } from './leased-item.ts'

/** A finished item whose writes the server may not have. */
interface UnsentSave extends Pick<Save, 'state' | 'add' | 'replace' | 'remove'> {
  item: string
  drafts: [key: string, draft: Draft][]
}

interface Kept {
  saves: UnsentSave[]
  /** The answers entered for the current item. */
  entered?: { item: string; drafts: [key: string, draft: Draft][] }
}

/** Writes that the server has not accepted yet survive a reload and the end of the session, in their tab, for the same user. */
export function openUnsent({ queue, user }: { queue: string; user: string }) {
  const name = `heddle.review ${queue} ${user}`
  const kept = read(name)

  /** False if it is more than the browser can keep. */
  function write(): boolean {
    try {
      if (kept.saves.length === 0 && kept.entered === undefined) sessionStorage.removeItem(name)
      else sessionStorage.setItem(name, JSON.stringify(kept))
      return true
    } catch {
      sessionStorage.removeItem(name)
      return false
    }
  }

  return {
    /** From before the page was loaded. */
    saves: [...kept.saves],
    entered: kept.entered,
    enter(item: string, drafts: ReadonlyMap<string, Draft>): boolean {
      kept.entered = { item, drafts: [...drafts] }
      return write()
    },
    /** The item is finished; it has at most one save. */
    add(save: Save): boolean {
      const { held, state, add, replace, remove } = save
      const item = held.item.id
      drop(item)
      kept.saves.push({ item, drafts: [...held.drafts.value], state, add, replace, remove })
      return write()
    },
    /** The server has accepted it, or the reviewer has dropped it. */
    remove(item: string): void {
      drop(item)
      write()
    },
    clear(): void {
      kept.saves = []
      delete kept.entered
      write()
    },
  }

  function drop(item: string): void {
    kept.saves = kept.saves.filter((one) => one.item !== item)
    if (kept.entered?.item === item) delete kept.entered
  }
}

function read(name: string): Kept {
  const text = sessionStorage.getItem(name)
  return text === null ? { saves: [] } : (JSON.parse(text) as Kept)
}
