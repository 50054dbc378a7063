import { type JsonNode, membersOf, nodeAt } from '../value/json-index.ts'

/** The tokens of each choice of a recorded answer that has log-probabilities. */
export function tokensIn(output: JsonNode | undefined): JsonNode[] {
  const choices = nodeAt(output, 'choices')
  if (choices?.kind !== 'array') return []
  return [...membersOf(choices)].flatMap(({ node }) => {
    const content = nodeAt(node, 'logprobs', 'content')
    return content?.kind === 'array' && content.end - content.start > 2 ? [content] : []
  })
}
