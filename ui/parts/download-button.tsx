import { saveAs } from './save-as.ts'

/** Whatever is too long to be read here can be read elsewhere. */
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
