/** The known name that was probably meant: the given one is mistyped, or has one part too many or too few. */
export function nearestName(given: string, known: readonly string[]): string | undefined {
  const name = given.toLowerCase()
  const byDistance = known
    .map((one) => ({ one, distance: distanceOf(name, one) }))
    .filter(({ one, distance }) => distance <= (Math.min(one.length, name.length) < 5 ? 1 : 2))
    .toSorted((a, b) => a.distance - b.distance)
  if (byDistance[0] !== undefined) return byDistance[0].one
  return known
    .filter((one) => isPartOf(one, name) || isPartOf(name, one))
    .toSorted((a, b) => Math.abs(a.length - name.length) - Math.abs(b.length - name.length))[0]
}

/** Whether the words of one are the first or the last words of the other. */
function isPartOf(part: string, whole: string): boolean {
  return part !== '' && (whole.startsWith(`${part}_`) || whole.endsWith(`_${part}`))
}

/** How many letters have to be added, removed, replaced or swapped with their neighbour (optimal string alignment). */
function distanceOf(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, column) => column)]
  for (let row = 1; row <= one.length; row++) {
    const last = rows[row - 1] as number[]
    const current = [row]
    for (let column = 1; column <= other.length; column++) {
      const isSame = one[row - 1] === other[column - 1]
      let least = Math.min(
        (last[column] as number) + 1,
        (current[column - 1] as number) + 1,
        (last[column - 1] as number) + (isSame ? 0 : 1),
      )
      if (one[row - 1] === other[column - 2] && one[row - 2] === other[column - 1]) {
        least = Math.min(least, ((rows[row - 2] as number[])[column - 2] as number) + 1)
      }
      current.push(least)
    }
    rows.push(current)
  }
  return (rows[one.length] as number[])[other.length] as number
}
