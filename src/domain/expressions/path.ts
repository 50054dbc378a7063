/** Dots separate; `\.` is a dot inside a key; every other backslash stands for itself. */
export function splitPath(field: string): string[] {
  const segments: string[] = ['']
  for (const part of field.match(/\\\.|\.|[^.\\]+|\\/g) ?? []) {
    if (part === '.') segments.push('')
    else segments[segments.length - 1] += part === '\\.' ? '.' : part
  }
  return segments
}

/** Such a segment addresses a list when the value is a list, else the key. Longer numbers address keys alone. */
export function isListIndex(segment: string): boolean {
  return /^(?:0|[1-9]\d{0,8})$/.test(segment)
}
