/** Texts that programs have treated as more than text: quotes, parameters, comments, patterns, paths, ends of strings. */
export const hostileTexts: readonly string[] = [
  "'; DROP TABLE calls; --",
  "' OR '1'='1",
  "x')) UNION SELECT hash FROM api_keys --",
  "\\'; DROP TABLE users; --",
  '$1',
  '?',
  '%',
  '_',
  '"].x',
  '$."a"[0]',
  'a\0b',
  '\ud800',
  '__proto__',
]

type Path = readonly (string | number)[]

/** The path to every text in a value, at any depth. */
export function* textsIn(value: unknown, path: Path = []): Generator<Path> {
  if (typeof value === 'string') yield path
  if (typeof value !== 'object' || value === null) return
  for (const [key, inner] of Object.entries(value)) yield* textsIn(inner, [...path, key])
}

/** The value with another text at the path. */
export function withText(value: unknown, path: Path, text: string): unknown {
  const [key, ...rest] = path
  if (key === undefined) return text
  const copy = (Array.isArray(value) ? [...value] : { ...(value as object) }) as Record<string, unknown>
  copy[key] = withText(copy[key], rest, text)
  return copy
}
