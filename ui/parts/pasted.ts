/** A call as JSON may be long, but not as long as a book. */
const mostCharacters = 20_000

/** What is pasted where nobody is typing. Ends with what it returns. */
export function hearPasted(hear: (text: string) => void): () => void {
  const onPaste = (event: ClipboardEvent) => {
    const at = event.target
    if (at instanceof Element && at.closest('input, textarea, select, [contenteditable], dialog')) return
    const text = event.clipboardData?.getData('text/plain').trim() ?? ''
    if (text === '' || text.length > mostCharacters || document.querySelector('dialog[open]')) return
    event.preventDefault()
    hear(text)
  }
  document.addEventListener('paste', onPaste)
  return () => document.removeEventListener('paste', onPaste)
}
