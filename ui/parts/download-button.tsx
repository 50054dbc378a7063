import { saveAs } from './save-as.ts'

/** Downloads a text that is too long to be shown. */
export function DownloadButton({ text, name }: { text: string; name: string }) {
  return (
    <button
      type="button"
      class="quiet"
      onClick={() => saveAs(new Blob([text], { type: 'text/plain' }), name)}
    >
      Download
    </button>
  )
}
