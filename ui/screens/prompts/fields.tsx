import { MessageText } from '../play/message-text.tsx'
import { newTurn, type Turn } from '../play/turns.ts'
import { placeholder, type Variable, variableTypes } from './draft.ts'

const roles = ['system', 'developer', 'user', 'assistant', 'tool', placeholder]

interface MessagesProps {
  turns: readonly Turn[]
  onChange(turns: readonly Turn[]): void
}

/** The messages of a prompt, which can be added, removed and moved. */
export function MessageList({ turns, onChange }: MessagesProps) {
  const edit = (at: number, changes: Partial<Turn>) =>
    onChange(turns.map((turn, index) => (index === at ? { ...turn, ...changes } : turn)))
  const move = (at: number, by: number) => {
    const moved = turns.filter((_, index) => index !== at)
    moved.splice(at + by, 0, turns[at] as Turn)
    onChange(moved)
  }
  return (
    <>
      <ol class="prompt-messages" aria-label="Messages">
        {turns.map(({ id, role, text, isJson }, index) => (
          <li key={id} class="turn" data-role={role}>
            <div class="turn-head">
              <select
                aria-label={`Role of message ${index + 1}`}
                value={role}
                onChange={({ currentTarget }) => edit(index, { role: currentTarget.value })}
              >
                {[...new Set([...roles, role])].map((one) => (
                  <option key={one}>{one}</option>
                ))}
              </select>
              {isJson && <span class="muted">parts, as JSON</span>}
              <Act
                name={`Move message ${index + 1} up`}
                sign="↑"
                run={index > 0 ? () => move(index, -1) : undefined}
              />
              <Act
                name={`Move message ${index + 1} down`}
                sign="↓"
                run={index < turns.length - 1 ? () => move(index, 1) : undefined}
              />
              <Act
                name={`Remove message ${index + 1}`}
                sign="×"
                run={turns.length > 1 ? () => onChange(turns.filter((turn) => turn.id !== id)) : undefined}
              />
            </div>
            <MessageText
              label={`Message ${index + 1}`}
              placeholder={role === placeholder ? 'Name, such as messages: those of the request' : ''}
              text={text}
              onText={(next) => edit(index, { text: next })}
            />
          </li>
        ))}
      </ol>
      <div>
        <button type="button" onClick={() => onChange([...turns, newTurn('user')])}>
          Add message
        </button>
      </div>
    </>
  )
}

interface ActProps {
  name: string
  sign: string
  /** Undefined where it would change nothing. */
  run: (() => void) | undefined
}

function Act({ name, sign, run }: ActProps) {
  return (
    <button type="button" class="icon-button" aria-label={name} disabled={!run} onClick={() => run?.()}>
      {sign}
    </button>
  )
}

interface VariablesProps {
  all: readonly Variable[]
  declared: readonly Variable[]
  onChange(variables: readonly Variable[]): void
}

/** The type of each variable. One that stays a plain text need not be declared. */
export function VariableFields({ all, declared, onChange }: VariablesProps) {
  const edit = (changed: Variable) =>
    onChange([
      ...declared.map((one) => (one.name === changed.name ? changed : one)),
      ...(declared.some(({ name }) => name === changed.name) ? [] : [changed]),
    ])
  return all.map((variable) => {
    const { name, type, fallback, among } = variable
    return (
      <fieldset key={name} class="run-settings prompt-variable">
        <legend>
          <code>{`{${name}}`}</code>
        </legend>
        <select
          aria-label={`Type of ${name}`}
          value={type}
          onChange={({ currentTarget }) => edit({ ...variable, type: currentTarget.value })}
        >
          {variableTypes.map((one) => (
            <option key={one}>{one}</option>
          ))}
        </select>
        <input
          aria-label={`Default of ${name}`}
          placeholder="no default"
          value={fallback}
          onInput={({ currentTarget }) => edit({ ...variable, fallback: currentTarget.value })}
        />
        <textarea
          rows={among.split('\n').length}
          aria-label={`Values of ${name}, one per line`}
          placeholder="any value, or one per line"
          value={among}
          onInput={({ currentTarget }) => edit({ ...variable, among: currentTarget.value })}
        />
        {declared.includes(variable) && (
          <button type="button" onClick={() => onChange(declared.filter((one) => one !== variable))}>
            Reset {name}
          </button>
        )}
      </fieldset>
    )
  })
}
