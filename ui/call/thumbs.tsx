import { useState } from 'preact/hooks'
import { Icon } from '../parts/icon.tsx'
import { useShortcuts } from '../parts/shortcuts.ts'
import { addFeedback, type FeedbackEntry, feedbackOf, removeFeedback } from '../server/feedback.ts'
import { useLoading } from '../server/loading.ts'
import { may } from '../server/rights.ts'
import { currentUser } from '../server/session.ts'
import { nodeAt, stringOf } from '../value/json-index.ts'

interface Props {
  project: string
  /** The reference to what they are about. */
  about: string
  /** The keys + and - press them. */
  hasKeys: boolean
  onChanged?: (() => void) | undefined
}

const thumbs = [
  { emoji: '👍', name: 'Good', icon: 'up' },
  { emoji: '👎', name: 'Bad', icon: 'down' },
] as const

/** A thumb up or down; pressing one again takes it back. */
export function Thumbs({ project, about, hasKeys, onChanged }: Props) {
  const { value, reload } = useLoading((signal) => feedbackOf(project, about, signal), [project, about])
  const [failure, setFailure] = useState<Error>()
  const mine = (emoji: string) =>
    value?.filter((entry) => entry.by === currentUser.value?.user && emojiIn(entry) === emoji) ?? []
  const press = async (emoji: string) => {
    try {
      const before = mine(emoji)
      if (before.length === 0) await addFeedback(project, about, { kind: 'reaction', emoji })
      for (const { id } of before) await removeFeedback(project, id)
      setFailure(undefined)
    } catch (error) {
      setFailure(error as Error)
    }
    reload()
    onChanged?.()
  }
  useShortcuts(
    'Feedback',
    [],
    hasKeys && may('review', project)
      ? [
          { keys: ['+'], does: 'Thumbs up', run: () => void press('👍') },
          { keys: ['-'], does: 'Thumbs down', run: () => void press('👎') },
        ]
      : [],
  )
  if (!may('review', project)) return null
  return (
    <span class="thumbs">
      {thumbs.map(({ emoji, name, icon }) => (
        <button
          key={name}
          type="button"
          class="icon-button"
          aria-label={name}
          title={hasKeys ? `${name} (${name === 'Good' ? '+' : '-'})` : name}
          aria-pressed={mine(emoji).length > 0}
          disabled={value === undefined}
          onClick={() => void press(emoji)}
        >
          <Icon name={icon} />
        </button>
      ))}
      {failure && (
        <span class="problem" role="alert">
          {failure.message}
        </span>
      )}
    </span>
  )
}

const emojiIn = ({ payload }: FeedbackEntry) => stringOf(nodeAt(payload, 'emoji'))
