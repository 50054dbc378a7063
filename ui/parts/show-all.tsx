import { countText } from '../value/units.ts'
import { DownloadButton } from './download-button.tsx'

/** Follows a text that is cut off. */
export function ShowAll({ text, onShow }: { text: string; onShow(): void }) {
  return (
    <span class="show-all">
      <button type="button" class="quiet" onClick={onShow}>
        Show all {countText(text.length)} characters
      </button>
      <DownloadButton text={text} name="text.txt" />
    </span>
  )
}
