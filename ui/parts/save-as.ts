/** Hands a file to the browser, which saves it or asks where to. */
export function saveAs(blob: Blob, name: string): void {
  const link = document.createElement('a')
  link.href = URL.createObjectURL(blob)
  link.download = name
  link.click()
  // By then the browser has read it.
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000)
}
