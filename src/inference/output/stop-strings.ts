/** The stop strings of a request, prepared for looking for all of them while the text grows. */
export interface StopStrings {
  readonly strings: readonly string[]
  search(): StopSearch
}

export interface StopSearch {
  /** One more UTF-16 unit of text: the stop string that ends with it, by its place in the list, the first of several; -1 for none. */
  step(unit: number): number
  /** How many units at the end of the text may still become a stop string. */
  begun(): number
}

/**
 * Knuth, Morris and Pratt's search, for each string: a unit costs one step for each of them and never looks back. How much
 * of each stands at the end of the text is what may have to be held back. Nothing is prepared before it is needed, which
 * of a long string is seldom more than its beginning.
 */
export function createStopStrings(strings: readonly string[]): StopStrings {
  // Text is made of whole characters, so half of one never occurs in it.
  const places = [...strings.keys()].filter(
    (place) => strings[place] !== '' && strings[place]?.isWellFormed(),
  )
  const sought = places.map((place) => createSought(strings[place] as string))
  const firsts = Uint16Array.from(sought, ({ string }) => string.charCodeAt(0))

  return {
    strings,
    search() {
      const standing = new Uint32Array(sought.length)
      let longest = 0
      return {
        step(unit) {
          let found = -1
          longest = 0
          for (let i = 0; i < sought.length; i++) {
            let length = standing[i] as number
            if (length === 0 && firsts[i] !== unit) continue
            const { string, shorter } = sought[i] as Sought
            while (length > 0 && string.charCodeAt(length) !== unit) length = shorter(length)
            if (string.charCodeAt(length) === unit) length++
            if (length === string.length) {
              if (found === -1) found = places[i] as number
              length = shorter(length)
            }
            standing[i] = length
            if (length > longest) longest = length
          }
          return found
        },
        begun: () => longest,
      }
    },
  }
}

interface Sought {
  string: string
  /** How much of the string its first so many units also end with, but for all of them. */
  shorter(length: number): number
}

function createSought(string: string): Sought {
  /** For each length, from 0 on, as far as it has been asked for. */
  const lengths = [0, 0]
  return {
    string,
    shorter(wanted) {
      for (let length = lengths.length; length <= wanted; length++) {
        const unit = string.charCodeAt(length - 1)
        let shorter = lengths[length - 1] as number
        while (shorter > 0 && string.charCodeAt(shorter) !== unit) shorter = lengths[shorter] as number
        lengths.push(string.charCodeAt(shorter) === unit ? shorter + 1 : 0)
      }
      return lengths[wanted] as number
    },
  }
}
