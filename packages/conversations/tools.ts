import {
  isObject,
  itemsIn,
  type Json,
  jsonAt,
  type Members,
  memberOf,
  membersIn,
  textIn,
  textOf,
} from './json.ts'
import type { Block, ToolCall, ToolResult } from './message.ts'

/** A request of the model to run a tool, in any of the forms. */
export function toolCall(json: Json): ToolCall {
  const outer = membersIn(json)
  const wrapped = memberOf(outer, 'tool_call', ...callWrappers)
  if (isObject(wrapped)) return toolCall(wrapped)
  const members = isObject(outer.get('function')) ? membersIn(outer.get('function')) : outer
  // Items of the Responses API have an id of their own beside that of the call.
  const id = textOf(outer, 'call_id', 'toolCallId', 'tool_call_id', 'toolUseId', 'id', 'ref')
  const type = textOf(outer, 'type')
  const server = outer.get('server_tool_call')
  const name =
    textOf(members, 'name', 'toolName', 'tool_name') ??
    textIn(jsonAt(server, 'type')) ??
    type?.replace(/_call$/, '') ??
    'unknown'
  const input = memberOf(members, 'arguments', 'input', 'args', 'action', 'code', 'queries') ?? server
  return { kind: 'call', ...(id !== undefined && { id }), name, input: textIn(input) ?? input ?? '' }
}

/** A message of OpenInference may have one call, flattened into names of its own. */
export function flatCall(message: Members): ToolCall[] {
  const name = textOf(message, 'function_call_name')
  return name === undefined
    ? []
    : [{ kind: 'call', name, input: textOf(message, 'function_call_arguments_json') ?? '' }]
}

type ReadContent = (json: Json) => Block[]

const resultTypes = /(^|[-_])(result|call_output|call_response|tool-return)$/

export const isResultType = (type: string): boolean => resultTypes.test(type)

const callTypes = /^(function|tool-call|function-call|(server_|mcp_)?tool_use|[a-z_]+_call)$/

export const isCallType = (type: string): boolean => callTypes.test(type)

/** Google, Bedrock and Genkit have an object within an object. */
export const callWrappers = ['functionCall', 'function_call', 'toolUse', 'toolRequest'] as const
export const resultWrappers = ['functionResponse', 'function_response', 'toolResult', 'toolResponse'] as const

/** What a tool returned, in any of the forms. */
export function toolResult(json: Json, read: ReadContent): ToolResult {
  const outer = membersIn(json)
  const wrapped = memberOf(outer, ...resultWrappers)
  if (isObject(wrapped)) return toolResult(wrapped, read)
  const id = textOf(outer, 'tool_use_id', 'toolUseId', 'call_id', 'tool_call_id', 'toolCallId', 'id', 'ref')
  const name = textOf(outer, 'name', 'toolName', 'tool_name')
  const { content, isError } = opened(
    memberOf(outer, 'content', 'output', 'response', 'result', 'server_tool_call_response', 'tools'),
  )
  return {
    kind: 'result',
    ...(id !== undefined && { id }),
    ...(name !== undefined && { name }),
    ...((isError || saysFailed(outer)) && { isError: true }),
    content: resultContent(content, read),
  }
}

/** Anthropic and the MCP have a flag, Bedrock and LangChain a status. */
export const saysFailed = (members: Members): boolean =>
  members.get('is_error') === 'true' ||
  members.get('isError') === 'true' ||
  textOf(members, 'status') === 'error'

/** The Vercel AI SDK says what kind of output it is. */
function opened(json: Json | undefined): { content: Json | undefined; isError: boolean } {
  const members = membersIn(json)
  const type = textOf(members, 'type')
  if (type === 'execution-denied') return { content: members.get('reason') ?? json, isError: true }
  if (type === undefined || !/^(text|json|content|error-(text|json))$/.test(type) || !members.has('value'))
    return { content: json, isError: false }
  return { content: members.get('value'), isError: type.startsWith('error') }
}

/** Blocks of Bedrock are named by their only member. */
const isBlock = (members: Members): boolean =>
  ['type', ...resultWrappers].some((name) => members.has(name)) || (members.size === 1 && members.has('text'))

/** A list of blocks is content; any other list or object is what the tool returned, also one of things with a type. */
export function resultContent(json: Json | undefined, read: ReadContent): Block[] {
  if (json === undefined || json === 'null') return []
  if (json.startsWith('"')) return read(json)
  const items = itemsIn(json)
  const isContent = items.length > 0 && items.every((item) => isBlock(membersIn(item)))
  const blocks = isContent ? read(json) : []
  return blocks.some(({ kind }) => kind !== 'other') ? blocks : [{ kind: 'data', json }]
}
