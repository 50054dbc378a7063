import { useState } from 'preact/hooks'
import { AddConversations } from '../../adding/add-conversations.tsx'
import { AddToQueue } from '../../adding/add-to-queue.tsx'
import { AddButtons, addKeys } from '../../parts/add-buttons.tsx'
import { useShortcuts } from '../../parts/shortcuts.ts'
import { countText } from '../../value/units.ts'

interface Props {
  project: string
  /** The last turns of the selected conversations, by their ids. */
  chosen: ReadonlyMap<string, string>
  onClear(): void
}

/** What can be done with the selected conversations. */
export function ThreadSelection({ project, chosen, onClear }: Props) {
  const [front, setFront] = useState<'queue' | 'dataset'>()
  useShortcuts('Selected conversations', [
    ...addKeys(project, setFront),
    { keys: ['Escape'], does: 'Clear selection', run: onClear },
  ])
  const onClose = () => setFront(undefined)
  return (
    <div class="selection" role="toolbar" aria-label="Selected conversations">
      <strong>
        {countText(chosen.size)} {chosen.size === 1 ? 'conversation' : 'conversations'}
      </strong>
      <AddButtons project={project} add={setFront} />
      <button type="button" class="quiet" onClick={onClear}>
        Clear selection
      </button>
      {front === 'queue' && (
        <AddToQueue {...{ project, onClose }} calls={[...chosen.values()]} noun="conversation" />
      )}
      {front === 'dataset' && <AddConversations {...{ project, onClose }} threads={[...chosen.keys()]} />}
    </div>
  )
}
