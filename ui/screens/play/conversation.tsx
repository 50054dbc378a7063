import type { ComponentChildren } from 'preact'
import { Icon } from '../../parts/icon.tsx'
import { Problem } from '../../parts/states.tsx'
import { jsonNode } from '../../value/json-index.ts'
import { JsonTree } from '../../value/json-tree.tsx'
import { MessageText } from './message-text.tsx'
import type { Play } from './play.ts'
import { invalidField } from './run.ts'
import { begunTurn, type Turn } from './turns.ts'

const roles = ['system', 'user', 'assistant', 'tool']

/** The messages that A and B are both asked, each editable. */
export function Conversation({ play, children }: { play: Play; children: ComponentChildren }) {
  const turns = play.turns.value
  const wrong = play.shown.value
    .map(({ run }) => run.value?.error)
    .find((error) => invalidField(error)?.message !== undefined)
  const wrongIndex = invalidField(wrong)?.message
  return (
    <section class="conversation" aria-label="Messages">
      <ol>
        {turns.map((turn, index) => (
          <TurnRow
            key={turn.id}
            {...{ play, turn, index }}
            isLast={index === turns.length - 1}
            isOnly={turns.length === 1}
            wrong={index === wrongIndex ? wrong?.message : undefined}
          />
        ))}
      </ol>
      <div class="conversation-add">
        {turns[0]?.role !== 'system' && (
          <button
            type="button"
            class="quiet"
            onClick={() => {
              play.turns.value = [begunTurn('system'), ...turns]
            }}
          >
            Add system message
          </button>
        )}
        <button
          type="button"
          class="quiet"
          onClick={() => play.add(begunTurn(turns.at(-1)?.role === 'user' ? 'assistant' : 'user'))}
        >
          Add message
        </button>
        {children}
      </div>
    </section>
  )
}

interface RowProps {
  play: Play
  turn: Turn
  index: number
  isLast: boolean
  isOnly: boolean
  wrong: string | undefined
}

function TurnRow({ play, turn, index, isLast, isOnly, wrong }: RowProps) {
  const { id, role, text, isJson = false, rest, isOpen = false, isBegun = false } = turn
  const others = Object.entries(rest).filter(([name]) => name !== 'tool_call_id')
  const label = `Message ${index + 1}`
  return (
    <li class="turn" data-role={role} data-wrong={wrong !== undefined}>
      <div class="turn-head">
        <select
          aria-label={`Role of message ${index + 1}`}
          value={role}
          onChange={({ currentTarget }) => play.edit(id, { role: currentTarget.value })}
        >
          {[...new Set([...roles, role])].map((one) => (
            <option key={one} value={one}>
              {one}
            </option>
          ))}
        </select>
        {isJson && <span class="muted">parts, as JSON</span>}
        {isLast && role === 'assistant' && (
          <label class="check">
            <input
              type="checkbox"
              checked={isOpen}
              onChange={({ currentTarget }) => play.edit(id, { isOpen: currentTarget.checked })}
            />
            Continue the answer from here
          </label>
        )}
        <button
          type="button"
          class="icon-button"
          aria-label={`Remove message ${index + 1}`}
          disabled={isOnly}
          onClick={() => play.remove(id)}
        >
          <Icon name="trash" />
        </button>
      </div>
      <MessageText
        label={label}
        placeholder={role === 'user' ? 'Ask something' : ''}
        text={text}
        isWriting={isBegun}
        onText={(next) => play.edit(id, { text: next })}
      />
      {others.map(([name, value]) => (
        <details key={name} class="turn-rest">
          <summary>{name}</summary>
          <JsonTree node={jsonNode(value)} />
        </details>
      ))}
      <Problem text={wrong} />
    </li>
  )
}
