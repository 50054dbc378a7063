import { useState } from 'preact/hooks'
import { Feedback } from '../../call/feedback.tsx'
import { Thumbs } from '../../call/thumbs.tsx'
import { may } from '../../server/rights.ts'
import { threadRefOf } from '../../value/ref.ts'

interface Props {
  project: string
  thread: string
}

/** What is said of the whole conversation, above its first turn. */
export function ThreadFeedback({ project, thread }: Props) {
  const [changes, setChanges] = useState(0)
  const about = threadRefOf(project, thread)
  const onChanged = () => setChanges(changes + 1)
  return (
    <section class="thread-feedback" aria-label="Feedback on the conversation">
      <header class="turn-head">
        <h2>The whole conversation</h2>
        {may('review', project) && (
          <Thumbs key={changes} {...{ project, about, onChanged }} hasKeys={false} />
        )}
      </header>
      <Feedback key={changes} {...{ project, about, onChanged }} what="conversation" />
    </section>
  )
}
