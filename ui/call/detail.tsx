import { Fragment } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { AddToDataset } from '../adding/add-to-dataset.tsx'
import { AddToQueue } from '../adding/add-to-queue.tsx'
import { ExportButton } from '../export/button.tsx'
import { AddButtons, addKeys, PlayLink } from '../parts/add-buttons.tsx'
import { CopyButton } from '../parts/copy-button.tsx'
import { Cost } from '../parts/cost.tsx'
import { DownloadButton } from '../parts/download-button.tsx'
import { Fact } from '../parts/plain-table.tsx'
import { type Shortcut, useShortcuts } from '../parts/shortcuts.ts'
import { Failed, Skeleton } from '../parts/states.tsx'
import { Status } from '../parts/status.tsx'
import { Time } from '../parts/time.tsx'
import { paths } from '../routes.ts'
import {
  type CallRow,
  costOf,
  latencyOf,
  modelsOf,
  nameOf,
  readCall,
  statusOf,
  tokensOf,
} from '../server/calls.ts'
import { useLoading } from '../server/loading.ts'
import { Chat } from '../value/chat.tsx'
import { type JsonNode, nodeAt, sourceOf, stringOf } from '../value/json-index.ts'
import { JsonTree } from '../value/json-tree.tsx'
import { conversationIn } from '../value/messages.ts'
import { PlainText } from '../value/plain-text.tsx'
import { callRefOf } from '../value/ref.ts'
import { agoText, countText, durationText, sizeText } from '../value/units.ts'
import { Feedback } from './feedback.tsx'
import { tokensIn } from './recorded-tokens.ts'
import { Thumbs } from './thumbs.tsx'

const tabs = ['chat', 'surprise', 'input', 'output', 'attributes', 'feedback'] as const
type Tab = (typeof tabs)[number]

/** The first tab depends on the call; a tab that the user chose is kept for the next call. */
let chosen: Tab | undefined

interface Props {
  project: string
  call: string
  /** Show a link to the trace, where the screen does not already show it. */
  withTrace?: boolean
  /** The call is shown next to a form, which handles the keys and the feedback. */
  isBeside?: boolean
  onChanged?: () => void
}

/** A whole call. */
export function CallDetail({ project, call: id, withTrace = false, isBeside = false, onChanged }: Props) {
  const { value: call, error, reload } = useLoading((signal) => readCall(project, id, signal), [project, id])
  const [tab, setTab] = useState(chosen)
  const isThis = call !== undefined && stringOf(nodeAt(call, 'id')) === id
  const [front, setFront] = useState<'queue' | 'dataset'>()
  const [changes, setChanges] = useState(0)
  const changed = () => {
    setChanges(changes + 1)
    onChanged?.()
  }
  const choose = (next: Tab) => {
    chosen = next
    setTab(next)
  }
  const changing = addKeys(project, setFront)
  const bindings: Shortcut[] = [
    { keys: ['c'], does: 'Conversation', run: () => choose('chat') },
    { keys: ['s'], does: 'Surprise (needs log-probabilities)', run: () => choose('surprise') },
    { keys: ['i'], does: 'Input', run: () => choose('input') },
    { keys: ['u'], does: 'Output', run: () => choose('output') },
    { keys: ['m'], does: 'Attributes', run: () => choose('attributes') },
    { keys: ['n'], does: 'Feedback and notes', run: () => choose('feedback') },
  ]
  useShortcuts('Call', isBeside ? [] : bindings, isBeside ? [] : changing)
  if (error) return <Failed error={error} retry={reload} />
  if (!isThis) return <Skeleton rows={12} />
  return (
    <>
      <Shown
        {...{ project, id, call, withTrace, isBeside, tab, choose, changes }}
        onChanged={changed}
        add={setFront}
      />
      {front === 'queue' && <AddToQueue project={project} calls={[id]} onClose={() => setFront(undefined)} />}
      {front === 'dataset' && (
        <AddToDataset project={project} calls={[id]} onClose={() => setFront(undefined)} />
      )}
    </>
  )
}

interface ShownProps {
  project: string
  id: string
  call: JsonNode
  withTrace: boolean
  isBeside: boolean
  tab: Tab | undefined
  choose(tab: Tab): void
  /** Opens the dialog that adds the call to a queue or a dataset. */
  add(to: 'queue' | 'dataset'): void
  /** How often the user has changed its feedback. */
  changes: number
  onChanged(): void
}

function Shown({ tab: wanted, choose, add, changes, onChanged, ...shown }: ShownProps) {
  const { project, id, call, withTrace, isBeside } = shown
  const about = callRefOf(project, id)
  // These members are small, and their numbers (sizes and times) lose no digits.
  const row = JSON.parse(`{${lightText(call)}}`) as CallRow
  const [inputs, output] = [nodeAt(call, 'inputs'), nodeAt(call, 'output')]
  const conversation = useMemo(() => conversationIn(call), [call])
  const isChat = conversation !== undefined
  const tokens = tokensIn(output)
  const isThere = (one: Tab) => {
    if (one === 'chat') return isChat
    if (one === 'feedback') return !isBeside
    return one !== 'surprise' || tokens.length > 0
  }
  const tab = wanted !== undefined && isThere(wanted) ? wanted : isChat ? 'chat' : 'input'
  return (
    <article class="detail" aria-label={nameOf(row)}>
      <header class="detail-head">
        <h2 dir="auto">{nameOf(row)}</h2>
        <CopyButton text={id} label="Copy call ID" />
        <span class="detail-tools">
          {!isBeside && (
            <Fragment data-file={null}>
              <Thumbs project={project} about={about} hasKeys onChanged={onChanged} />
              {nodeAt(inputs, 'messages')?.kind === 'array' && <PlayLink {...{ project, id }} />}
              <AddButtons project={project} add={add} />
              <ExportButton
                key={id}
                what="call"
                load={async () => (await import('../export/all.ts')).exportOfCall(project, id, nameOf(row))}
                hasKey={withTrace}
              />
            </Fragment>
          )}
          {withTrace && (
            <a class="button" data-file={null} href={paths.trace(project, row.trace_id, id)}>
              Open trace
            </a>
          )}
        </span>
      </header>
      <Facts row={row} thread={{ project, id: stringOf(nodeAt(call, 'thread_id')) }} />
      {row.exception !== null && <PlainText class="exception" text={row.exception} />}
      <div class="tabs" role="tablist" aria-label="Call sections">
        {tabs.filter(isThere).map((one) => (
          <button
            key={one}
            type="button"
            role="tab"
            id={`tab-${one}`}
            aria-selected={one === tab}
            aria-controls="tab-panel"
            onClick={() => choose(one)}
          >
            {names[one]}
          </button>
        ))}
      </div>
      <div class="tab-panel" id="tab-panel" role="tabpanel" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === 'chat' && conversation && <Chat {...conversation} />}
        {tab === 'surprise' && <SurpriseTab {...{ project, inputs }} choices={tokens} />}
        {tab === 'input' && <Value node={inputs} name="input" />}
        {tab === 'output' && <Value node={output} name="output" />}
        {tab === 'attributes' && <Attributes call={call} />}
        {tab === 'feedback' && <Feedback key={changes} {...{ project, about, onChanged }} what="call" />}
      </div>
    </article>
  )
}

/** Its code is loaded when the tab is opened. */
function SurpriseTab(props: { project: string; inputs: JsonNode | undefined; choices: JsonNode[] }) {
  const { value, error, reload } = useLoading(() => import('./surprise.tsx'), [])
  if (error) return <Failed error={error} retry={reload} />
  return value === undefined ? <Skeleton rows={6} /> : <value.RecordedSurprise {...props} />
}

const names: Record<Tab, string> = {
  chat: 'Conversation',
  surprise: 'Surprise',
  input: 'Input',
  output: 'Output',
  attributes: 'Attributes',
  feedback: 'Feedback',
}

const lightMembers = [
  'id',
  'op_name',
  'display_name',
  'trace_id',
  'parent_id',
  'started_at',
  'ended_at',
  'exception',
  'svc_user_id',
  'storage_size_bytes',
  'summary',
]

const lightText = (call: JsonNode): string =>
  lightMembers
    .flatMap((name) => {
      const node = nodeAt(call, name)
      return node === undefined ? [] : `${JSON.stringify(name)}:${sourceOf(node)}`
    })
    .join(',')

function Facts({ row, thread }: { row: CallRow; thread: { project: string; id: string | undefined } }) {
  const tokens = tokensOf(row)
  const latency = latencyOf(row)
  const cost = costOf(row)
  const models = modelsOf(row)
  return (
    <dl class="facts">
      <Fact name="Status">
        <Status status={statusOf(row)} />
      </Fact>
      {latency !== undefined && <Fact name="Latency">{durationText(latency)}</Fact>}
      {tokens && (
        <Fact name="Tokens">
          {countText(tokens.input)} in, {countText(tokens.output)} out
        </Fact>
      )}
      {tokens && (
        <Fact name="Cost">
          <Cost {...{ cost, models }} tokens={tokens.input + tokens.output} />
        </Fact>
      )}
      <Fact name="Started">
        <Time at={row.started_at} />{' '}
        <span class="muted">{agoText(new Date(row.started_at), new Date())}</span>
      </Fact>
      {row.svc_user_id !== null && <Fact name="User">{row.svc_user_id}</Fact>}
      {models.length > 0 && <Fact name="Model">{models.join(', ')}</Fact>}
      {thread.id && (
        <Fact name="Conversation">
          <a data-file={() => thread.id} href={paths.thread(thread.project, thread.id, row.id)}>
            {thread.id}
          </a>
        </Fact>
      )}
      {row.storage_size_bytes !== null && <Fact name="Size">{sizeText(row.storage_size_bytes)}</Fact>}
    </dl>
  )
}

export function Value({ node, name }: { node: JsonNode | undefined; name: string }) {
  if (node === undefined || node.kind === 'null') return <p class="muted">Nothing recorded.</p>
  const text = stringOf(node)
  return (
    <>
      <div class="value-tools">
        <CopyButton text={text ?? sourceOf(node)} label="Copy value">
          Copy
        </CopyButton>
        <DownloadButton
          text={text ?? sourceOf(node)}
          name={`${name}.${text === undefined ? 'json' : 'txt'}`}
        />
      </div>
      {text === undefined ? <JsonTree node={node} /> : <PlainText text={text} />}
    </>
  )
}

function Attributes({ call }: { call: JsonNode }) {
  return (
    <>
      {(['attributes', 'summary'] as const).map((name) => (
        <section key={name}>
          <h3>{name === 'attributes' ? 'Attributes' : 'Summary'}</h3>
          <Value node={nodeAt(call, name)} name={name} />
        </section>
      ))}
      <h3>Call</h3>
      <dl class="pairs">
        {[
          'id',
          'trace_id',
          'parent_id',
          'thread_id',
          'turn_id',
          'op_name',
          'svc_run_id',
          'started_at',
          'ended_at',
          'expire_at',
        ].map((name) => {
          const text = stringOf(nodeAt(call, name))
          return text === undefined ? null : (
            <div key={name}>
              <dt>{name}</dt>
              <dd>
                <code>{text}</code>
              </dd>
            </div>
          )
        })}
      </dl>
    </>
  )
}
