/** The texts of a value with the members of its objects in every order; for large values not all orders. */
export function orderings(value: unknown): string[] {
  if (Array.isArray(value)) return combined(value.map(orderings)).map((items) => `[${items}]`)
  if (typeof value !== 'object' || value === null) return [JSON.stringify(value)]
  const members = Object.entries(value).map(([name, member]) =>
    orderings(member).map((text) => `${JSON.stringify(name)}:${text}`),
  )
  return permutations(members).flatMap((order) => combined(order).map((texts) => `{${texts}}`))
}

const most = 60

function combined(parts: readonly (readonly string[])[]): string[] {
  return parts.reduce<string[]>(
    (texts, part, i) =>
      texts.flatMap((text) => part.map((one) => (i === 0 ? one : `${text},${one}`))).slice(0, most),
    [''],
  )
}

function permutations<T>(list: readonly T[]): T[][] {
  if (list.length === 0) return [[]]
  return list.flatMap((one, i) => permutations(list.toSpliced(i, 1)).map((rest) => [one, ...rest]))
}
