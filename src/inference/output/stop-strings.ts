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
 * Knuth, Morris and Pratt's search, for each string: a unit costs one step for each of them and never looks back, and
 * preparing them costs no more than reading them does. How much of each stands at the end of the text is what may have to
 * be held back.
 */
export function createStopStrings(strings: readonly string[]): StopStrings {
  // Text is made of whole characters, so half of one never occurs in it.
  const places = [...strings.keys()].filter(
    (place) => strings[place] !== '' && strings[place]?.isWellFormed(),
  )
  const sought = places.map((place) => unitsOf(strings[place] ?? ''))
  const shorter = sought.map(fallbacks)

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
            const units = sought[i] as Uint16Array
            const fallback = shorter[i] as Uint32Array
            let length = standing[i] as number
            while (length > 0 && units[length] !== unit) length = fallback[length - 1] as number
            if (units[length] === unit) length++
            if (length === units.length) {
              if (found === -1) found = places[i] as number
              length = fallback[length - 1] as number
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

function unitsOf(string: string): Uint16Array {
  return Uint16Array.from({ length: string.length }, (_, i) => string.charCodeAt(i))
}

/** For each beginning of a string how much of the string its own end is the beginning of. */
function fallbacks(units: Uint16Array): Uint32Array {
  const lengths = new Uint32Array(units.length)
  let length = 0
  for (let i = 1; i < units.length; i++) {
    while (length > 0 && units[i] !== units[length]) length = lengths[length - 1] as number
    if (units[i] === units[length]) length++
    lengths[i] = length
  }
  return lengths
}
