import { wrong } from '../../domain/refusals.ts'
import { type Item, responseOfItem } from './items.ts'
import { maxReadCharacters, type ResponseStore } from './store.ts'

/** Looks up the items of stored answers that the references of one request name. */
export function createReferences(store: ResponseStore, signal: AbortSignal, field = 'input') {
  let latest: { response: string; items: Map<string, Item> } | undefined
  let read = 0

  /** References to one answer come in a row, so it is read once. */
  async function itemsOf(response: string): Promise<Map<string, Item>> {
    if (latest?.response === response) return latest.items
    const stored = await store.find(response, signal)
    read += stored?.size ?? 0
    if (read > maxReadCharacters) {
      throw wrong(
        field,
        `references to answers of more than ${maxReadCharacters} characters`,
        'the items themselves',
      )
    }
    const items = stored === undefined ? [] : [...(await stored.input()), ...stored.output]
    latest = { response, items: new Map(items.map((item) => [item.id, item])) }
    return latest.items
  }

  return {
    async find(id: string): Promise<Item | undefined> {
      const response = responseOfItem(id)
      return response === undefined ? undefined : (await itemsOf(response)).get(id)
    },
  }
}
