import { type JsonMember, type JsonNode, membersOf, sourceOf, stringOf } from './json-index.ts'
import { JsonTree } from './json-tree.tsx'
import { Markdown } from './markdown.tsx'
import { scoreText } from './scores.ts'

/** The result of a scorer: each number or text by its name, and reasons as the judge wrote them. */
export function ScoreValue({ node }: { node: JsonNode }) {
  if (node.kind !== 'object') return <ScoreLeaf node={node} />
  return (
    <dl class="score-members">
      {[...membersOf(node)].map(({ name, node: value }, index) => (
        // Names may occur twice; the position tells members apart.
        <div key={index} class={stringOf(value) === undefined ? '' : 'reason'}>
          <dt class="muted">{name}</dt>
          <dd>
            <ScoreLeaf node={value} />
          </dd>
        </div>
      ))}
    </dl>
  )
}

/** A text is a reason, which judges write in Markdown. */
export function ScoreLeaf({ node }: { node: JsonNode }) {
  const text = stringOf(node)
  if (text !== undefined) return <Markdown text={text} />
  const members = [...membersOf(node)]
  // A typed question is on one line, which wraps.
  const isDecided = members.some(({ name }) => name === 'probability')
  if (!isDecided && (node.kind === 'object' || node.kind === 'array'))
    return <JsonTree node={node} open={0} />
  return (
    <span class="score-value" title={sourceOf(node)}>
      {isDecided ? decisionText(members) : scoreText(node)}
    </span>
  )
}

/** What was decided and how surely; the probabilities of all the others are in the title. */
const decisionText = (members: readonly JsonMember[]): string =>
  members
    .filter(({ name }) => name !== 'probabilities')
    .map(({ name, node }) => (/^(value|level)$/.test(name) ? '' : `${name} `) + scoreText(node))
    .join(' · ')
