import { MessagesBody } from '../src/operations/messages/contract.ts'
import { fieldTableBesideChat } from './chat-parameters.ts'
import { generated } from './pages.ts'

/** What Heddle supports of Anthropic's Messages, with the fields from their contract. */
export function messagesPage(): string {
  return `${generated}

# Messages

\`POST /v1/messages\` and \`POST /v1/messages/count_tokens\` are those of Anthropic's API, for its SDKs, \`@ai-sdk/anthropic\` and Claude Code.

\`\`\`sh
curl -s localhost:8080/v1/messages -H "x-api-key: $KEY" -H 'content-type: application/json' -d '{
  "max_tokens": 100, "messages": [{"role": "user", "content": "What is the capital of Mali?"}]}'
\`\`\`

The base URL of the SDKs is the address of the server without \`/v1\`. \`anthropic-version\` and \`anthropic-beta\` have no effect.
[Batches](batches.md#messages) are answered in the background.

## Claude Code

\`\`\`sh
export ANTHROPIC_BASE_URL=http://127.0.0.1:8080
export ANTHROPIC_AUTH_TOKEN=$KEY
export ANTHROPIC_MODEL=qwen   # of GET /v1/models
export CLAUDE_CODE_MAX_CONTEXT_TOKENS=32768   # HEDDLE_CONTEXT
export CLAUDE_CODE_MAX_OUTPUT_TOKENS=4096
claude
\`\`\`

For titles and the like it uses a smaller model: set \`ANTHROPIC_DEFAULT_HAIKU_MODEL\`, or \`HEDDLE_MODEL_NAME=qwen,claude-haiku-4-5\`.
Its system message and tools take 20,000 tokens and more: set \`HEDDLE_CONTEXT\` to at least 32768. Models on [another
server](gateway.md#agents) work too.

## Fields

Fields are honoured, refused or ignored as in [chat completions](chat-parameters.md#fields).

${fieldTableBesideChat(MessagesBody)}

\`count_tokens\` accepts \`model\` and those down to \`cache_control\`, and those without effect.

## What is different

| Here | At Anthropic |
|---|---|
| The beginnings of prompts are always cached, but by [models of Anthropic](gateway.md#anthropic) as there: \`cache_read_input_tokens\` counts, \`cache_creation_input_tokens\` is 0 | where \`cache_control\` says |
| Without \`thinking\` a model does not think, if its template has a switch. One that thinks anyway answers with \`thinking\` blocks | depends on the model |
| A changed thought of this server is refused; one of another server is accepted, so a conversation can move here | only its own thoughts |
| Tool results may come after text; an error (\`is_error\`) is \`Error: …\` | must come first |
| Images go to models on another server, never by \`file_id\`. A model of this machine refuses them by their type, as documents and blocks of server tools are | are supported |
| Arguments fit the schema of their tool, \`strict\` or not, but for what \`x-heddle-widened\` names | with \`strict\` |

## Answers

| Field | Value |
|---|---|
| \`stop_reason\` | \`end_turn\`, \`tool_use\`, \`stop_sequence\`, \`max_tokens\`, or \`model_context_window_exceeded\` when the context is full before \`max_tokens\` |
| \`usage.input_tokens\` | computed tokens of the prompt, without cached ones |
| \`usage.output_tokens_details.thinking_tokens\` | tokens of thoughts, part of \`output_tokens\` |

The input of a call that was cut off has only its complete part; a stream has all of its text. A stream begins before the prompt is computed:
only the usage in \`message_delta\` is final. A \`ping\` comes every 15 seconds while there is nothing else to send.

A refusal is \`{"type": "error", "error": {"type", "message", "details": {"error_code"}}, "request_id"}\`, with Anthropic's types and [our
codes](errors.md); a failure in the middle of a stream is an \`error\` event.
`
}
