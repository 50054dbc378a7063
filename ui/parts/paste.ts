/** Long enough for most calls as JSON; longer texts are ignored. */
const mostCharacters = 20_000

/** Listens for text that is pasted while no field has the focus. Returns a function that ends it. */
export function listenForPaste(hear: (text: string) => void): () => void {
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
