import type { JsonText } from '../../domain/json/text.ts'
import { wrong } from './checks.ts'

const maxEntries = 16
const maxNameLength = 64
const maxEntryLength = 512

/** The same limits as OpenAI's. */
export function checkMetadata(metadata: JsonText | null | undefined): void {
  if (metadata == null) return
  const entries = Object.entries(metadata.value as object)
  if (entries.length > maxEntries)
    throw wrong('metadata', `${entries.length} entries`, `at most ${maxEntries}`)
  for (const [name, value] of entries) {
    if (name.length > maxNameLength)
      throw wrong('metadata', 'a longer name', `names of at most ${maxNameLength} characters`)
    if (typeof value === 'string' && value.length <= maxEntryLength) continue
    throw wrong(`metadata.${name}`, 'another value', `a string of at most ${maxEntryLength} characters`)
  }
}
