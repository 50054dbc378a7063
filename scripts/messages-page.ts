import { MessagesBody } from '../src/operations/messages/contract.ts'
import { fieldTable } from './chat-parameters.ts'
import { generated } from './pages.ts'

/** What Heddle supports of Anthropic's Messages, with the fields from their contract. */
export function messagesPage(): string {
  return `${generated}

# Messages

\`POST /v1/messages\` answers as Anthropic's API does, and \`POST /v1/messages/count_tokens\` counts: whole or streamed, with tools,
thoughts and structured output. Anthropic's SDKs, \`@ai-sdk/anthropic\` and Claude Code talk to a local model through it.

\`\`\`sh
curl -s localhost:8080/v1/messages -H "x-api-key: $KEY" -H 'content-type: application/json' -d '{
  "max_tokens": 100, "messages": [{"role": "user", "content": "What is the capital of Mali?"}]}'
\`\`\`

The base URL of the SDKs is the address of the server without \`/v1\`. The key goes into \`x-api-key\` or \`Authorization: Bearer\`.
\`anthropic-version\` and \`anthropic-beta\` may be there and change nothing.

## Claude Code

\`\`\`sh
export ANTHROPIC_BASE_URL=http://127.0.0.1:8080
export ANTHROPIC_AUTH_TOKEN=$KEY
export ANTHROPIC_MODEL=qwen   # a name that GET /v1/models lists
claude
\`\`\`

Claude Code asks a smaller model for titles and the like. \`ANTHROPIC_DEFAULT_HAIKU_MODEL\` names it, or a further name of the model
does: \`HEDDLE_MODEL_NAME=qwen,claude-haiku-4-5\`. Its system message and its tools take 20,000 tokens and more, so
\`HEDDLE_CONTEXT\` should be at least 32768. What one request has read is not read again by the next: the line of its system
message that differs each time is taken out.

The tests send what Claude Code sends; the program itself is not run in them. By hand, version 2.1.330 (\`claude -p\`,
12 tools, a request of 50,000 characters) read a file with its \`Bash\` tool and said what was in it, against a model that plays its part.

## Fields

Every answer is a call of the record, \`heddle.messages\`, unless somebody said that it should not be ([Recording](recording.md)). The
header \`x-heddle-call-id\` names it.

Every field is honoured, or refused by name with a 400 before the first byte of the answer. A field that can have no effect here is
marked **No effect**, and one that is not in the table is ignored.

${fieldTable(MessagesBody)}

\`count_tokens\` takes the fields from \`model\` to \`cache_control\`.

## What is different

| Here | At Anthropic |
|---|---|
| \`cache_control\` has no effect anywhere: the beginnings of prompts are always found again. \`cache_read_input_tokens\` says how much, \`cache_creation_input_tokens\` is 0 | marks what is cached |
| Without \`thinking\` a model does not think, where its template has a switch. One that thinks all the same answers with blocks of type \`thinking\` | depends on the model |
| The signature of a thought is no secret. A thought of this server that comes back changed is refused; one of another server is taken as it is, so a conversation can move here | only its own thoughts |
| \`redacted_thinking\` has no effect, because only Anthropic can read it | is read |
| Results of tools may stand behind text; the model sees them first. An error (\`is_error\`) is shown to it as \`Error: …\` | must come first |
| Images, documents and what servers run are refused by their type. Tools of another type than \`custom\` are left out, and \`x-heddle-skipped-tools\` names them | are offered |
| Arguments fit the schema of their tool, \`strict\` or not; what of a schema cannot be kept is named in \`x-heddle-widened\` | with \`strict\` |

## Answers

| Field | Value |
|---|---|
| \`stop_reason\` | \`end_turn\`, \`tool_use\`, \`stop_sequence\`, \`max_tokens\`, or \`model_context_window_exceeded\` when the context is full before \`max_tokens\` |
| \`usage.input_tokens\` | tokens of the prompt that were read; those that were known are in \`cache_read_input_tokens\` |
| \`usage.output_tokens_details.thinking_tokens\` | tokens of thoughts, which \`output_tokens\` counts too |

The input of a call that was cut off is what is complete of it; a stream has its text.

A stream begins with \`message_start\` at once, before the prompt is read: the usage in \`message_delta\` is the true one. A \`ping\` comes
every 15 seconds while there is nothing else to send. A failure in the middle is an \`error\` event.

## Refusals

\`{"type": "error", "error": {"type", "message", "details": {"error_code"}}, "request_id"}\`, with Anthropic's types; \`error_code\` is one of
[the codes](errors.md). What is busy is 429 \`rate_limit_error\` or 503 \`overloaded_error\` with \`Retry-After\`, which the SDKs try again.
`
}
