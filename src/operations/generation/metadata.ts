import type { JsonText } from '../../domain/json/text.ts'
import { wrong } from './checks.ts'

const mostEntries = 16
const longestName = 64
const longestEntry = 512

/** The same limits as OpenAI's. */
export function checkMetadata(given: JsonText | null | undefined): void {
  if (given == null) return
  const entries = Object.entries(given.value as object)
  if (entries.length > mostEntries)
    throw wrong('metadata', `${entries.length} entries`, `at most ${mostEntries}`)
  for (const [name, value] of entries) {
    if (name.length > longestName)
      throw wrong('metadata', 'a longer name', `names of at most ${longestName} characters`)
    if (typeof value === 'string' && value.length <= longestEntry) continue
    throw wrong(`metadata.${name}`, 'another value', `a string of at most ${longestEntry} characters`)
  }
}
