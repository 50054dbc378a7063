/** What a call does in an agent, as its client says it. */
export const callKinds = ['model', 'tool', 'agent', 'retrieval'] as const
export type CallKind = (typeof callKinds)[number]

/** Where clients say it: Weave, OpenTelemetry, OpenInference, OpenLLMetry and Langfuse. */
export const kindAttributes: readonly (readonly string[])[] = [
  ['weave', 'kind'],
  ['gen_ai', 'operation', 'name'],
  ['openinference', 'span', 'kind'],
  ['traceloop', 'span', 'kind'],
  ['langfuse', 'observation', 'type'],
]

const words: Record<CallKind, readonly string[]> = {
  model: [
    'llm',
    'chat',
    'text_completion',
    'generate_content',
    'embeddings',
    'embedding',
    'generation',
    'reranker',
  ],
  tool: ['tool', 'execute_tool'],
  agent: ['agent', 'invoke_agent', 'create_agent', 'invoke_workflow'],
  retrieval: ['search', 'retriever', 'retrieval'],
}

/** `stated` is the value of such an attribute; a call with tokens of its own asked a model. */
export function kindOfCall(stated: string | null, hasTokens: boolean): CallKind | null {
  const word = stated?.toLowerCase()
  const kind = callKinds.find((kind) => word !== undefined && words[kind].includes(word))
  return kind ?? (hasTokens ? 'model' : null)
}
