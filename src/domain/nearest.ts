/** The known name that was probably meant: the given one is mistyped, or has one part too many or too few. */
export function nearestName(text: string, known: readonly string[]): string | undefined {
  const name = text.toLowerCase()
  const byDistance = known
    .map((candidate) => ({ candidate, distance: distanceOf(name, candidate) }))
    .filter(({ candidate, distance }) => distance <= (Math.min(candidate.length, name.length) < 5 ? 1 : 2))
    .toSorted((a, b) => a.distance - b.distance)
  if (byDistance[0] !== undefined) return byDistance[0].candidate
  return known
    .filter((candidate) => isPartOf(candidate, name) || isPartOf(name, candidate))
    .toSorted((a, b) => Math.abs(a.length - name.length) - Math.abs(b.length - name.length))[0]
}

/** Whether the words of one are the first or the last words of the other. */
function isPartOf(words: string, whole: string): boolean {
  return words !== '' && (whole.startsWith(`${words}_`) || whole.endsWith(`_${words}`))
}

/** How many letters have to be added, removed, replaced or swapped with their neighbour (optimal string alignment). */
function distanceOf(left: string, right: string): number {
  const rows: number[][] = [Array.from({ length: right.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= left.length; row++) {
    const last = rows[row - 1] as number[]
    const current = [row]
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1]
      let least = Math.min(
        (last[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (last[column - 1] as number) + (isSame ? 0 : 1),
      )
      if (left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1]) {
        least = Math.min(least, ((rows[row - 2] as number[])[column - 2] as number) + 1)
      }
      current.push(least)
    }
    rows.push(current)
  }
  return (rows[left.length] as number[])[right.length] as number
}
