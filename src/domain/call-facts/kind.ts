/** What a call does in an agent, as its client says it. */
export const callKinds = ['model', 'tool', 'agent', 'retrieval'] as const
export type CallKind = (typeof callKinds)[number]

/** Where clients say it: Weave, OpenTelemetry, OpenInference, OpenLLMetry, Langfuse, LangSmith, MLflow, Vercel AI SDK, Claude Code, Genkit. */
export const kindAttributes: readonly (readonly string[])[] = [
  ['weave', 'kind'],
  ['gen_ai', 'operation', 'name'],
  ['openinference', 'span', 'kind'],
  ['traceloop', 'span', 'kind'],
  ['langfuse', 'observation', 'type'],
  ['langsmith', 'span', 'kind'],
  ['mlflow', 'spanType'],
  ['ai', 'operationId'],
  ['span', 'type'],
  ['genkit:metadata:subtype'],
]

/** Codex says of a span that it is the run of a tool only by having both. */
export const toolRunAttributes: readonly (readonly string[])[] = [['tool_name'], ['call_id']]

const words: Record<CallKind, RegExp> = {
  model:
    /^(?:llm|chat|model|embedder|text_completion|generate_content|embeddings?|generation|reranker|chat_model|llm_request|ai\.\w+\.do\w+)$/,
  tool: /^(?:tool|execute_tool|ai\.toolcall)$/,
  agent:
    /^(?:agent|invoke_agent|create_agent|invoke_workflow|interaction|ai\.(?:generate|stream)(?:text|object))$/,
  retrieval: /^(?:search|retriever|retrieval)$/,
}

/** What an attribute says, as a word: MLflow writes JSON. */
export const kindWord = (stated: string) => stated.replaceAll('"', '').toLowerCase()

/** `stated` is the value of such an attribute; a call with tokens of its own asked a model. */
export function kindOfCall(stated: string | null, hasTokens: boolean): CallKind | null {
  const word = kindWord(stated ?? '')
  return callKinds.find((kind) => words[kind].test(word)) ?? (hasTokens ? 'model' : null)
}

interface Recorded {
  /** As OpenTelemetry records it, and without inputs and output. */
  isBareSpan: boolean
  kind: CallKind | null
  op_name: string
}

/** The span in which Codex counts tokens. */
export const codexUsage = 'handle_responses'

const codexSteps =
  /^(?:turn\/start|codex\.turn_input|session_task\.turn|run_turn|codex\.sampling|model_client\.stream_responses_api|handle_responses)$/

/** Of the hundreds of spans of a turn, those in which Codex says how far it is. */
export const isCodexStep = (op: string): boolean => codexSteps.test(op)

/**
 * Whether a call is the inside of a framework, of an HTTP client or of a database: a span that says nothing but how long
 * it took. Calls of Weave never are: each function was recorded on purpose. Whoever hides them knows what failed, what
 * was said of them, and what runs below.
 */
export const isInnerStep = ({ isBareSpan, kind, op_name }: Recorded): boolean =>
  isBareSpan && kind === null && !isCodexStep(op_name)
