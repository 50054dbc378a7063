export type StopStrings = ReturnType<typeof createStopStrings>

/**
 * The stop strings of a request, prepared for looking for all of them while the text grows: Knuth, Morris and Pratt's search, for each string: a unit costs one step for each of them and never looks back. How much
 * of each stands at the end of the text is what may have to be held back. Nothing is prepared before it is needed, which
 * of a long string is seldom more than its beginning.
 */
export function createStopStrings(strings: readonly string[]) {
  // Text is made of whole characters, so half of one never occurs in it.
  const sought = strings.flatMap((string, index) =>
    string !== '' && string.isWellFormed() ? createSought(string, index) : [],
  )
  const firsts = Uint16Array.from(sought, ({ string }) => string.charCodeAt(0))

  return {
    strings,
    search() {
      const standing = new Uint32Array(sought.length)
      let longest = 0
      return {
        /** One more UTF-16 unit of text: the index of the stop string that ends with it, of the first of several; -1 for none. */
        step(unit: number): number {
          let found = -1
          longest = 0
          for (let i = 0; i < sought.length; i++) {
            let length = standing[i] as number
            if (length === 0 && firsts[i] !== unit) continue
            const { string, index, shorter } = sought[i] as Sought
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

type Sought = ReturnType<typeof createSought>

function createSought(string: string, index: number) {
  /** For each length, from 0 on, as far as it has been asked for. */
  const lengths = [0, 0]
  return {
    string,
    index,
    /** How much of the string its first so many units also end with, but for all of them. */
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
