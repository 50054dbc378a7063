import type { ComponentChildren } from 'preact'
import { Value } from '../../call/detail.tsx'
import { Failed } from '../../parts/states.tsx'
import { paths } from '../../routes.ts'
import { shortOp } from '../../server/calls.ts'
import { Chat } from '../../value/chat.tsx'
import { type JsonNode, jsonNode, membersOf, nodeAt, sourceOf, stringOf } from '../../value/json-index.ts'
import { conversationIn } from '../../value/messages.ts'
import { ShownFields } from './item-view.tsx'
import type { LeasedItem } from './leased-item.ts'

interface Props {
  project: string
  held: LeasedItem
  other: JsonNode | Error
  /** What made the answers is not told. */
  isHidden: boolean
}

/** The answers of two calls, side by side or one below the other, and above them what both were asked. */
export function PairView({ project, held: { item, call, other }, isHidden }: Props) {
  const isSwapped = item.display?.left !== item.call_id
  const calls = (isSwapped ? [other, call] : [call, other]) as (JsonNode | Error)[]
  const sides = calls.map((shown) => sideOf(shown, item.display_fields))
  const [first, second] = sides
  const isShared = first?.asked !== undefined && first.key === second?.key
  return (
    <section class="reading" aria-label="Two answers" tabIndex={0}>
      <div class="reading-head">
        <span class="muted">Item {item.position_in_queue}</span>
      </div>
      <div class="asked-about">
        {isShared && <section aria-label="Input of both">{first.asked}</section>}
        <div class="pair">
          {sides.map(({ asked, answered }, index) => (
            <section key={index} aria-label={`Answer ${index + 1}`}>
              <h2>
                Answer {index + 1}
                {!isHidden && <Maker project={project} call={calls[index]} />}
              </h2>
              {!isShared && asked}
              {answered}
            </section>
          ))}
        </div>
      </div>
    </section>
  )
}

function Maker({ project, call }: { project: string; call: JsonNode | Error | undefined }) {
  if (call === undefined || call instanceof Error) return null
  const text = (name: string) => stringOf(nodeAt(call, name)) ?? ''
  const usage = nodeAt(call, 'summary', 'usage')
  const models = usage === undefined ? [] : [...membersOf(usage)].map(({ name }) => name)
  return (
    <>
      {': '}
      <a href={paths.trace(project, text('trace_id'), text('id'))} target="_blank" rel="noopener">
        {[shortOp(text('op_name')), ...models].join(' · ')}
      </a>
    </>
  )
}

interface Side {
  asked?: ComponentChildren
  answered: ComponentChildren
  /** Equal for calls that were asked the same. */
  key?: string | undefined
}

function sideOf(call: JsonNode | Error, fields: readonly string[]): Side {
  if (call instanceof Error) return { answered: <Failed error={call} /> }
  if (fields.length > 0) return { answered: <ShownFields {...{ call, fields }} /> }
  const [inputs, output] = [nodeAt(call, 'inputs'), nodeAt(call, 'output')].map(withoutMaker)
  const conversation = conversationIn(withParts(call, { inputs, output }))
  if (conversation !== undefined) {
    const { asked, answered } = conversation
    return {
      asked: <Chat asked={asked} answered={[]} />,
      answered: <Chat asked={[]} answered={answered} />,
      key: JSON.stringify(asked),
    }
  }
  return {
    asked: <Value node={inputs} name="input" />,
    answered: <Value node={output} name="output" />,
    key: inputs && sourceOf(inputs),
  }
}

/** What a conversation is found in. */
function withParts(call: JsonNode, parts: Record<string, JsonNode | undefined>): JsonNode {
  const read = { ...parts, attributes: nodeAt(call, 'attributes') }
  const members = Object.entries(read).flatMap(([name, node]) =>
    node === undefined ? [] : [`"${name}":${sourceOf(node)}`],
  )
  return jsonNode(`{${members.join(',')}}`)
}

const makers = ['self', 'model', 'prompt']

/** Without the members that name the model or the prompt. */
function withoutMaker(node: JsonNode | undefined): JsonNode | undefined {
  if (node?.kind !== 'object') return node
  const members = [...membersOf(node)].filter(({ name }) => !makers.includes(name))
  return jsonNode(
    `{${members.map(({ name, node: value }) => `${JSON.stringify(name)}:${sourceOf(value)}`).join(',')}}`,
  )
}
