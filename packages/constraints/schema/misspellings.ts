/** The known name that differs from a name by one letter added, removed or replaced, by capitals, or by two swapped letters. */
export function closestName(name: string, known: readonly string[]): string | undefined {
  if (name.length < shortest || name.length > longest) return undefined
  return known.find((other) => other.length >= shortest && isMisspelling(name, other))
}

/** Shorter names are too similar to each other. */
const shortest = 4
const longest = 40

function isMisspelling(name: string, other: string): boolean {
  if (name.toLowerCase() === other.toLowerCase()) return true
  if (Math.abs(name.length - other.length) > 1) return false
  let front = 0
  while (front < name.length && name[front] === other[front]) front++
  const [one, two] = [name.slice(front), other.slice(front)]
  const swapped = `${one[1] ?? ''}${one[0] ?? ''}${one.slice(2)}`
  return (
    one.slice(1) === two ||
    one === two.slice(1) ||
    one.slice(1) === two.slice(1) ||
    (one.length > 1 && swapped === two)
  )
}
