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
  const [left, right] = [name.slice(front), other.slice(front)]
  const swapped = `${left[1] ?? ''}${left[0] ?? ''}${left.slice(2)}`
  return (
    left.slice(1) === right ||
    left === right.slice(1) ||
    left.slice(1) === right.slice(1) ||
    (left.length > 1 && swapped === right)
  )
}
