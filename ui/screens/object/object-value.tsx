import { tableOf } from '../../server/datasets.ts'
import type { ObjectRead } from '../../server/objects.ts'
import { Chat } from '../../value/chat.tsx'
import { type JsonNode, membersOf, nodeAt, stringOf } from '../../value/json-index.ts'
import { JsonTree } from '../../value/json-tree.tsx'
import { Markdown } from '../../value/markdown.tsx'
import { inputMessages } from '../../value/messages.ts'
import { PlainText } from '../../value/plain-text.tsx'
import { Rows } from './rows.tsx'

/** Members that only tell clients what kind of object it is. */
const marks = new Set(['_type', '_class_name', '_bases', 'weave_type'])

interface Props {
  project: string
  object: ObjectRead
  /** Called after a newer version was written; absent for versions that are not the newest. */
  onChanged: (() => void) | undefined
}

/** A value, shown as suits its kind. */
export function ObjectValue({ project, object, onChanged }: Props) {
  const { val } = object
  const rows = tableOf(val)
  const description = stringOf(nodeAt(val, 'description'))
  if (rows !== undefined && rows.project === project)
    return <Rows {...{ project, description, onChanged }} table={rows.table} dataset={object} />
  const messages = messagesIn(val)
  const members = [...membersOf(val)].filter(({ name }) => !marks.has(name))
  return (
    <div class="object-value" tabIndex={0} role="region" aria-label="Value">
      {description !== undefined && description !== '' && <Markdown text={description} />}
      {messages && <Chat asked={messages} answered={[]} />}
      {val.kind !== 'object' ? (
        <JsonTree node={val} />
      ) : (
        <dl class="members">
          {members
            .filter(({ name }) => name !== 'description')
            .map(({ name, node }, index) => (
              <div key={index}>
                <dt>{name}</dt>
                <dd>
                  <Member node={node} />
                </dd>
              </div>
            ))}
        </dl>
      )}
    </div>
  )
}

/** A prompt that is a list of messages is shown as a conversation. */
function messagesIn(val: JsonNode) {
  const list = nodeAt(val, 'messages')
  return list?.kind === 'array' ? inputMessages(val) : undefined
}

function Member({ node }: { node: JsonNode }) {
  const text = stringOf(node)
  // A long text is a prompt or code, so its line breaks are kept.
  return text?.includes('\n') ? <PlainText text={text} /> : <JsonTree node={node} />
}
