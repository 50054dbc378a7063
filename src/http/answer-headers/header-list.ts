const maxHeader = 2_048

/**
 * As many entries as fit into a header, and the number of those left out. Percent-encoded: names and paths may have any
 * characters, even lone surrogates.
 */
export function headerOf(entries: readonly string[]): string {
  let header = ''
  for (const [index, entry] of entries.entries()) {
    const text = encodeURIComponent(entry.slice(0, maxHeader).toWellFormed())
    if (header.length + text.length + 20 > maxHeader) {
      const rest = `and ${entries.length - index} more`
      return header === '' ? rest : `${header}, ${rest}`
    }
    header += header === '' ? text : `, ${text}`
  }
  return header
}
