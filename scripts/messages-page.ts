import { MessagesBody } from '../src/operations/messages/contract.ts'
import { fieldTable } from './chat-parameters.ts'
import { generated } from './pages.ts'

/** What Heddle supports of Anthropic's Messages, with the fields from their contract. */
export function messagesPage(): string {
  return `${generated}

# Messages

\`POST /v1/messages\` answers like Anthropic's API, whole or streamed, with tools, thoughts and structured output.
\`POST /v1/messages/count_tokens\` counts tokens. Anthropic's SDKs, \`@ai-sdk/anthropic\` and Claude Code can use a local model this way.

\`\`\`sh
curl -s localhost:8080/v1/messages -H "x-api-key: $KEY" -H 'content-type: application/json' -d '{
  "max_tokens": 100, "messages": [{"role": "user", "content": "What is the capital of Mali?"}]}'
\`\`\`

The base URL of the SDKs is the address of the server without \`/v1\`. The key goes into \`x-api-key\` or \`Authorization: Bearer\`.
\`anthropic-version\` and \`anthropic-beta\` are accepted and have no effect.

## Claude Code

\`\`\`sh
export ANTHROPIC_BASE_URL=http://127.0.0.1:8080
export ANTHROPIC_AUTH_TOKEN=$KEY
export ANTHROPIC_MODEL=qwen   # a name that GET /v1/models lists
export CLAUDE_CODE_MAX_CONTEXT_TOKENS=32768   # HEDDLE_CONTEXT
export CLAUDE_CODE_MAX_OUTPUT_TOKENS=4096
claude
\`\`\`

Claude Code uses a smaller model for titles and similar tasks. Set \`ANTHROPIC_DEFAULT_HAIKU_MODEL\`, or give the model another name:
\`HEDDLE_MODEL_NAME=qwen,claude-haiku-4-5\`. Its system message and its tools take 20,000 tokens and more, so \`HEDDLE_CONTEXT\` should be
at least 32768. What one request has computed is not computed again for the next: the line of the system message that differs each
time is removed. Without the last two variables it counts on a context of 200,000 tokens, so it does not compact a conversation in time, and
asks for 32,000 tokens of answer; that is lowered to what the context leaves.

The tests send the requests that Claude Code sends, but do not run the program itself. In a test by hand, version 2.1.330 (\`claude -p\`,
12 tools, a request of 50,000 characters) read a file with its \`Bash\` tool and reported its contents, with a scripted model.

A model may also be on [another server](gateway.md#agents): system messages, pictures, \`max_tokens\` and \`thinking\` are then sent in the form
that the server accepts.

## Fields

Every answer is a call of the record, \`heddle.messages\`, unless recording is turned off for it ([Recording](recording.md)). The
header \`x-heddle-call-id\` names it.

Every field is honoured, or refused by name with a 400 before the first byte of the answer. A field that can have no effect here is
marked **No effect**, and one that is not in the table is ignored. \`x-heddle-ignored-fields\` names a field that has no effect on this
model only: \`thinking.budget_tokens\` where a server elsewhere has no such limit; the effort is kept.

${fieldTable(MessagesBody)}

\`count_tokens\` accepts the fields from \`model\` to \`cache_control\`.

## What is different

| Here | At Anthropic |
|---|---|
| \`cache_control\` has no effect: the beginnings of prompts are always cached. \`cache_read_input_tokens\` is the number of cached tokens, \`cache_creation_input_tokens\` is 0 | marks what is cached |
| Without \`thinking\` a model does not think, if its template has a switch for it. A model that thinks anyway answers with blocks of type \`thinking\` | depends on the model |
| The signature of a thought is not secret. A thought of this server that was changed is refused; one of another server is accepted as it is, so a conversation can move here | only its own thoughts |
| \`redacted_thinking\` has no effect, because only Anthropic can read it | is read |
| Tool results may come after text; the model sees them first. It sees an error (\`is_error\`) as \`Error: …\` | must come first |
| Images go to models on another server; for a model of this machine they are refused by their type, as are documents and blocks of server tools. Images by \`file_id\` are refused. Tools of a type other than \`custom\` are left out, and \`x-heddle-skipped-tools\` names them | are supported |
| Arguments fit the schema of their tool, \`strict\` or not; parts of a schema that cannot be enforced are named in \`x-heddle-widened\` | with \`strict\` |

## Answers

| Field | Value |
|---|---|
| \`stop_reason\` | \`end_turn\`, \`tool_use\`, \`stop_sequence\`, \`max_tokens\`, or \`model_context_window_exceeded\` when the context is full before \`max_tokens\` |
| \`usage.input_tokens\` | tokens of the prompt that were computed; cached ones are in \`cache_read_input_tokens\` |
| \`usage.output_tokens_details.thinking_tokens\` | tokens of thoughts, which are part of \`output_tokens\` |

The input of a call that was cut off has only its complete part; a stream has all of its text.

A stream begins with \`message_start\` at once, before the prompt is computed: only the usage in \`message_delta\` is final. A \`ping\` comes
every 15 seconds while there is nothing else to send. A failure in the middle is an \`error\` event.

## Refusals

\`{"type": "error", "error": {"type", "message", "details": {"error_code"}}, "request_id"}\`, with Anthropic's types; \`error_code\` is one of
[the codes](errors.md). When the server is busy, it answers 429 \`rate_limit_error\` or 503 \`overloaded_error\` with \`Retry-After\`, and the SDKs retry.
`
}
