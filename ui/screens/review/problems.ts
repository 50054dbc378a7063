import { validateDraft } from '../../review/draft.ts'
import type { LeasedItem, Save } from './leased-item.ts'

/** What is wrong with the answers, by question. */
export function findProblems(held: LeasedItem): Map<string, string> {
  const found = new Map<string, string>()
  for (const { key, field, isNeeded } of held.questions) {
    const { json, problem } = validateDraft(field, held.drafts.value.get(key))
    if (problem !== undefined) found.set(key, problem)
    else if (isNeeded && json === undefined) found.set(key, 'Choose one, or skip the item.')
  }
  return found
}

/** The server's refusal of one answer, under its question. */
export function problemsIn(save: Save, error: Error): Map<string, string> {
  const at = /^batch\.(\d+)\./.exec(error.message)?.[1]
  const key = at === undefined ? save.replace[0]?.[0] : save.add[Number(at)]?.[0]
  return new Map(key === undefined ? [] : [[key, error.message.replace(/^batch\.\d+\./, '')]])
}
