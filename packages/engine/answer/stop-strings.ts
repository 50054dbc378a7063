export type StopStrings = ReturnType<typeof createStopStrings>

/**
 * The stop strings of a request, searched for all at once while the text grows, each with the algorithm of Knuth,
 * Morris and Pratt: a code unit costs one step for each string, and the text is never read again. The longest prefix of
 * a string at the end of the text is what may have to be held back. The table of a string is computed only as far as
 * needed, which for a long one is seldom more than its beginning.
 */
export function createStopStrings(strings: readonly string[]) {
  // Text consists of whole characters, so half of one never occurs in it.
  const sought = strings.flatMap((string, index) =>
    string !== '' && string.isWellFormed() ? createStopSearch(string, index) : [],
  )
  const firsts = Uint16Array.from(sought, ({ string }) => string.charCodeAt(0))

  return {
    strings,
    search() {
      const standing = new Uint32Array(sought.length)
      let longest = 0
      return {
        /**
         * Adds a UTF-16 unit of text. Returns the index of the stop string that ends with it, of the first of several;
         * -1 for none.
         */
        step(unit: number): number {
          let found = -1
          longest = 0
          for (let i = 0; i < sought.length; i++) {
            let length = standing[i] as number
            if (length === 0 && firsts[i] !== unit) continue
            const { string, index, shorter } = sought[i] as StopSearch
            while (length > 0 && string.charCodeAt(length) !== unit) length = shorter(length)
            if (string.charCodeAt(length) === unit) length++
            if (length === string.length) {
              if (found === -1) found = index
              length = shorter(length)
            }
            standing[i] = length
            if (length > longest) longest = length
          }
          return found
        },
        /** How many units at the end of the text may still become a stop string. */
        begun: () => longest,
      }
    },
  }
}

type StopSearch = ReturnType<typeof createStopSearch>

function createStopSearch(string: string, index: number) {
  /** For each prefix length, from 0 on, as far as computed. */
  const lengths = [0, 0]
  return {
    string,
    index,
    /** The length of the longest proper prefix of the string that is also a suffix of its first `wanted` units. */
    shorter(wanted: number): number {
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
