import {
  type Conversation,
  conversationOf,
  type Message,
  transcriptOf,
} from '../../../packages/conversations/index.ts'
import { inSteps } from '../../../packages/waiting/index.ts'
import { formatTime, formatTimeOrNull } from '../../domain/time.ts'
import type { TurnSpan } from '../../storage/agents/conversations.ts'
import type { ChatMessage, ChatTurn, ChatType } from './chat-contract.ts'
import { documentsOf, weaveFactsOf } from './span-details.ts'
import { textOfResult, toolRunOf, wordsOf } from './span-messages.ts'
import { durationOf, statusCodeOf } from './spans.ts'

interface Node {
  row: TurnSpan
  conversation: Conversation | undefined
  children: Node[]
  isVisited: boolean
}

interface Agent {
  name: string | null
  version: string | null
}

/** Calls further below than this are left out. */
const maxDepth = 200
const modelOperations = new Set(['chat', 'generate_content', 'text_completion'])

const asksModel = ({ operation, input_tokens, output_tokens }: TurnSpan) =>
  operation === null ? input_tokens !== null || output_tokens !== null : modelOperations.has(operation)

/** One turn as a chat: the question, then what agents, models and tools did, in the order of the tree. */
export async function chatOf(
  rows: readonly TurnSpan[],
  includeModelCalls: boolean,
): Promise<Omit<ChatTurn, 'feedback'> | undefined> {
  const nodes = new Map<string, Node>()
  await inSteps(rows, (row) => {
    nodes.set(row.id, { row, conversation: conversationOf(documentsOf(row)), children: [], isVisited: false })
  })
  const roots: Node[] = []
  for (const node of nodes.values()) {
    const { id, parent_id } = node.row
    const parent = parent_id === null || parent_id === id ? undefined : nodes.get(parent_id)
    if (parent === undefined) roots.push(node)
    else parent.children.push(node)
  }
  // Calls of a circle are below no root.
  const [root] = [...roots, ...nodes.values()]
  if (root === undefined) return undefined
  const all = [...nodes.values()]
  const messages = userMessages(all)
  const tools = new Set(all.flatMap(({ conversation }) => toolKeys(conversation)))
  const walk = walker(messages, includeModelCalls ? tools : undefined)
  for (const node of [...roots, ...all]) walk(node, { name: null, version: null }, 0)
  const named = rows.find(({ agent }) => agent !== null)
  return { ...sumsOf(root.row, rows), ...agentOf(named), messages }
}

const agentOf = (row: TurnSpan | undefined) => ({
  agent_name: row?.agent ?? null,
  agent_version: row?.agent_version ?? null,
})

function sumsOf(root: TurnSpan, rows: readonly TurnSpan[]) {
  const counted = rows.filter(({ counts }) => Number(counts) === 1)
  const sum = (name: 'input_tokens' | 'output_tokens' | 'cost') =>
    counted.reduce((all, row) => all + Number(row[name] ?? 0), 0)
  return {
    trace_id: root.trace_id,
    root_span_name: root.op_name,
    status_code: statusCodeOf(root),
    started_at: formatTime(root.started_at),
    ended_at: formatTimeOrNull(root.ended_at),
    wb_user_id: root.user_id,
    total_duration_ms: durationOf(root),
    total_cost_usd: counted.some(({ cost }) => cost !== null) ? sum('cost') : null,
    total_input_tokens: sum('input_tokens'),
    total_output_tokens: sum('output_tokens'),
  }
}

/** The question of the first invocation, else of the first call that has one. */
function userMessages(nodes: readonly Node[]): ChatMessage[] {
  const questionOf = ({ conversation }: Node) => conversation && transcriptOf(conversation).question
  const invocations = nodes.filter(({ row }) => row.operation === 'invoke_agent')
  for (const node of [...invocations, ...nodes]) {
    const text = questionOf(node)
    if (text) {
      const { content_refs } = weaveFactsOf(node.row)
      return [messageOf('user_message', node.row, { name: null, version: null }, { text, content_refs })]
    }
  }
  return []
}

function messageOf<Type extends ChatType>(
  type: Type,
  row: TurnSpan,
  agent: Agent,
  payload: NonNullable<ChatMessage[Type]>,
): ChatMessage {
  return {
    ...{ type, span_id: row.id, agent_name: agent.name, agent_version: agent.version },
    ...{
      status_code: statusCodeOf(row),
      status_message: row.exception,
      started_at: formatTime(row.started_at),
    },
    [type]: payload,
  }
}

const plainOp = (name: string) => name.replace(/^execute_tool /, '')

/** Whether this tool ran below a call. */
const isRunBelow = ({ children }: Node, tool: string, depth: number): boolean =>
  depth <= maxDepth &&
  children.some(
    (child) =>
      (child.row.operation === 'execute_tool' && plainOp(child.row.op_name) === tool) ||
      isRunBelow(child, tool, depth + 1),
  )

const keyOf = ({ id, name }: { id?: string | undefined; name: string }) => id ?? `name ${name}`

function toolKeys(conversation: Conversation | undefined): string[] {
  const run = conversation && toolRunOf(conversation)
  return run === undefined ? [] : [keyOf(run), `name ${run.name}`]
}

/** Adds messages for a call and those below it, and returns the last answer among them. `ran`: the tools that calls ran, where other ones are shown, too. */
function walker(messages: ChatMessage[], ran: ReadonlySet<string> | undefined) {
  function visit(node: Node, above: Agent, depth: number): ChatMessage | undefined {
    if (node.isVisited || depth > maxDepth) return undefined
    node.isVisited = true
    const { row } = node
    const agent = row.agent === null ? above : { name: row.agent, version: row.agent_version }
    const last = walk(node, agent, depth)
    const { compaction } = weaveFactsOf(row)
    if (compaction !== undefined) messages.push(messageOf('context_compacted', row, agent, compaction))
    return last
  }

  function walk(node: Node, agent: Agent, depth: number): ChatMessage | undefined {
    const { row, conversation, children } = node
    const isInvocation = row.operation === 'invoke_agent'
    if (isInvocation && row.agent !== null) messages.push(agentStart(node, agent))
    const tool = conversation && toolRunOf(conversation)
    const run =
      tool ??
      (row.operation === 'execute_tool' ? { name: row.op_name, input: null, output: null } : undefined)
    // Codex has the arguments in a record below the span of a tool, with other spans between.
    const isToldBelow = tool === undefined && run !== undefined && isRunBelow(node, plainOp(run.name), depth)
    if (run && !isToldBelow) messages.push(toolCall(row, agent, run))
    let last: ChatMessage | undefined
    for (const child of children) last = visit(child, agent, depth + 1) ?? last
    // What answers a tool is not the answer of its caller.
    if (run) return undefined
    if (conversation === undefined) return last
    if (asksModel(row) && ran) {
      for (const call of callsIn(conversation)) {
        if (!ran.has(keyOf(call)) && !ran.has(`name ${call.name}`)) {
          // A server of models may have run it itself.
          const output = call.result === undefined ? null : textOfResult(call.result)
          messages.push(toolCall(row, agent, { ...call, output }))
        }
      }
    }
    const answer = assistantMessage(row, agent, conversation)
    // Whatever is handed an answer, such as a step that chooses the next one, does not answer itself.
    const isHanded = !asksModel(row) && conversation.asked.at(-1)?.role === 'assistant'
    if (answer === undefined || isHanded) return last
    // Frameworks repeat the last answer on what encloses it. A call with tokens knows more of it than one without.
    if (last !== undefined && isSameText(answer, last)) {
      if (!asksModel(row) || last.assistant_message?.input_tokens != null) return last
      messages.splice(messages.indexOf(last), 1)
    }
    messages.push(answer)
    return answer
  }

  return visit
}

const textOf = ({ assistant_message }: ChatMessage) => assistant_message?.text.trim()
const isSameText = (a: ChatMessage, b: ChatMessage) => textOf(a) === textOf(b)

const callsIn = ({ answered }: Conversation) =>
  answered.flatMap(({ blocks }) => blocks.flatMap((block) => (block.kind === 'call' ? [block] : [])))

function agentStart({ row, conversation }: Node, agent: Agent): ChatMessage {
  const systems = (conversation?.asked ?? []).filter(({ role }) => role === 'system' || role === 'developer')
  return messageOf('agent_start', row, agent, {
    model: row.asked_model ?? row.model,
    system_instructions: systems.map((message) => wordsOf([message], 'text')),
    status: statusCodeOf(row),
  })
}

interface ShownRun {
  name: string
  input: string | null
  output: string | null
}

const toolCall = (row: TurnSpan, agent: Agent, { name, input, output }: ShownRun) =>
  messageOf('tool_call', row, agent, {
    ...{ tool_name: name, tool_arguments: input, tool_result: output },
    ...{ duration_ms: durationOf(row), status: statusCodeOf(row) },
  })

function assistantMessage(row: TurnSpan, agent: Agent, conversation: Conversation): ChatMessage | undefined {
  // Graphs return all messages of their state.
  const answered = conversation.answered.filter(({ role }) => !/^(user|system|developer|tool)$/.test(role))
  const [first] = answered
  const chosen = first?.choice === undefined ? answered : [first]
  const text = wordsOf(chosen, 'text') || (asksModel(row) ? objectOf(chosen) : '')
  const thought = wordsOf(chosen, 'thought')
  if (text === '' && thought === '') return undefined
  return messageOf('assistant_message', row, agent, {
    ...{ text, model: row.model ?? row.asked_model, reasoning_content: thought || null },
    ...{ input_tokens: row.input_tokens, output_tokens: row.output_tokens, total_cost_usd: row.cost },
    ...{ input_cost_usd: row.input_cost, output_cost_usd: row.output_cost },
    ...{ duration_ms: durationOf(row), status: statusCodeOf(row) },
  })
}

/** An answer that is nothing but an object, as its JSON. */
function objectOf(messages: readonly Message[]): string {
  const [block, ...others] = messages.flatMap(({ blocks }) => blocks)
  return others.length === 0 && (block?.kind === 'data' || block?.kind === 'other') ? block.json : ''
}
