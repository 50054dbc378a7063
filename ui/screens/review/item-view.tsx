import { useMemo } from 'preact/hooks'
import { CallDetail, Value } from '../../call/detail.tsx'
import { ExportButton } from '../../export/button.tsx'
import { Failed } from '../../parts/states.tsx'
import { paths } from '../../routes.ts'
import { shortOp } from '../../server/calls.ts'
import { Chat } from '../../value/chat.tsx'
import { type JsonNode, nodeAt, stringOf } from '../../value/json-index.ts'
import { JsonTree } from '../../value/json-tree.tsx'
import { Markdown } from '../../value/markdown.tsx'
import { conversationIn } from '../../value/messages.ts'
import { EarlierTurns } from './earlier-turns.tsx'
import type { LeasedItem } from './leased-item.ts'

interface Props {
  project: string
  held: LeasedItem
  isWhole: boolean
  onWhole(isWhole: boolean): void
}

/** What the reviewer judges: the fields that the item names, or the whole call. */
export function ItemView({ project, held: { item, call }, isWhole, onWhole }: Props) {
  return (
    <section class="reading" aria-label="Call details" tabIndex={0}>
      <div class="reading-head">
        <span class="muted">Item {item.position_in_queue}</span>
        <span>{shortOp(item.call_op_name)}</span>
        <button type="button" aria-pressed={isWhole} onClick={() => onWhole(!isWhole)}>
          Whole call <kbd>c</kbd>
        </button>
        <a
          class="button"
          href={paths.trace(project, item.call_trace_id, item.call_id)}
          target="_blank"
          rel="noopener"
        >
          Trace <kbd>t</kbd>
        </a>
        <ExportButton
          what="call"
          load={async () =>
            (await import('../../export/all.ts')).exportOfCall(
              project,
              item.call_id,
              shortOp(item.call_op_name),
            )
          }
        />
      </div>
      {call instanceof Error ? (
        <Failed error={call} />
      ) : isWhole ? (
        <CallDetail project={project} call={item.call_id} isBeside />
      ) : (
        <>
          <EarlierTurns {...{ project, call }} />
          <ShownFields call={call} fields={item.display_fields} />
        </>
      )}
    </section>
  )
}

export function ShownFields({ call, fields }: { call: JsonNode; fields: readonly string[] }) {
  const exception = stringOf(nodeAt(call, 'exception'))
  const answered = useMemo(() => conversationIn(call)?.answered ?? [], [call])
  return (
    <div class="asked-about">
      {exception !== undefined && <pre class="exception">{exception}</pre>}
      {fields.length === 0 ? (
        <WholeCall call={call} />
      ) : (
        fields.map((field) => (
          <section key={field}>
            <h2>{field}</h2>
            {field === 'output' && answered.length > 0 ? (
              <Chat asked={[]} answered={answered} />
            ) : (
              <Shown node={nodeAt(call, ...stepsOf(field))} />
            )}
          </section>
        ))
      )}
    </div>
  )
}

const stepsOf = (field: string): string[] =>
  field
    .replaceAll(/\[(\d+)\]/g, '.$1')
    .split('.')
    .filter((step) => step !== '')

function Shown({ node }: { node: JsonNode | undefined }) {
  if (node === undefined || node.kind === 'null') return <p class="muted">Empty.</p>
  const text = stringOf(node)
  return text === undefined ? <JsonTree node={node} /> : <Markdown text={text} />
}

function WholeCall({ call }: { call: JsonNode }) {
  const conversation = useMemo(() => conversationIn(call), [call])
  if (conversation !== undefined) return <Chat {...conversation} />
  const [inputs, output] = [nodeAt(call, 'inputs'), nodeAt(call, 'output')]
  return (
    <>
      <section>
        <h2>Input</h2>
        <Value node={inputs} name="input" />
      </section>
      <section>
        <h2>Output</h2>
        <Value node={output} name="output" />
      </section>
    </>
  )
}
