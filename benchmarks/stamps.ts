import { uuidv7 } from 'uuidv7'

const idLength = 36
const quote = 0x22

/** Copies of texts, and the id that each name has in them. */
export interface Stamped {
  bodies: Buffer[]
  ids: ReadonlyMap<string, string>
}

/**
 * Makes copies of JSON texts in which every name is replaced by a new id, the same in all of the texts. A name is a whole
 * string in quotes, as long as an id.
 */
export function stamper(texts: readonly Buffer[], isName: (text: string) => boolean): () => Stamped {
  const places = new Map<string, { text: number; at: number }[]>()
  for (const [text, bytes] of texts.entries()) {
    for (let at = bytes.indexOf(quote) + 1; at > 0; at = bytes.indexOf(quote, at) + 1) {
      if (bytes[at + idLength] !== quote) continue
      const name = bytes.toString('latin1', at, at + idLength)
      if (!isName(name)) continue
      const found = places.get(name)
      if (found) found.push({ text, at })
      else places.set(name, [{ text, at }])
    }
  }
  return () => {
    const bodies = texts.map((text) => Buffer.from(text))
    const ids = new Map<string, string>()
    for (const [name, found] of places) {
      const id = uuidv7()
      ids.set(name, id)
      for (const { text, at } of found) bodies[text]?.write(id, at, 'latin1')
    }
    return { bodies, ids }
  }
}
