import { type JsonNode, jsonNode } from '../../value/json-index.ts'
import { JsonTree } from '../../value/json-tree.tsx'
import { draftOf, isVariable, piecesOf, placeholder, variablesOf } from './draft.ts'

/** What a version says, with its variables marked, and what it sets. */
export function PromptText({ val }: { val: JsonNode }) {
  const draft = draftOf(val)
  const { text, turns, settings } = draft
  const variables = variablesOf(draft)
  return (
    <>
      {text !== undefined && <Marked text={text} />}
      {turns.length > 0 && (
        <ol class="chat">
          {turns.map((turn) => (
            <li key={turn.id} class="said" data-role={turn.role}>
              <div class="said-by">{turn.role}</div>
              <div class="said-what">
                {turn.role === placeholder ? (
                  <Marked text={`{${turn.text}}`} />
                ) : turn.isJson ? (
                  <JsonTree node={jsonNode(turn.text)} />
                ) : (
                  <Marked text={turn.text} />
                )}
              </div>
            </li>
          ))}
        </ol>
      )}
      {variables.length + settings.size > 0 && (
        <ul class="chips" aria-label="Variables and settings">
          {variables.map(({ name, type, fallback, among }) => (
            <li key={name}>
              <code>{`{${name}}`}</code>
              <span>
                {type}
                {among !== '' && ` among ${among.split('\n').join(', ')}`}
                {fallback !== '' && `, default ${fallback}`}
              </span>
            </li>
          ))}
          {[...settings].map(([name, value]) => (
            <li key={name}>
              <code>{name}</code> <span>{value}</span>
            </li>
          ))}
        </ul>
      )}
    </>
  )
}

function Marked({ text }: { text: string }) {
  return (
    <pre class="plain" dir="auto">
      {piecesOf(text).map((piece, index) => (isVariable(piece) ? <mark key={index}>{piece}</mark> : piece))}
    </pre>
  )
}
