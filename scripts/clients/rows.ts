/** How a client was seen to work. */
export type Seen =
  /** The unmodified program runs in these files of test/clients; these packages are what the row shows. */
  | { packages: readonly string[]; files: readonly string[] }
  /** Only its requests run there, as this version sends them where that is known. */
  | { requestsOf: string | undefined; files: readonly string[] }
  | { byHand: string; on: string }
  /** What the tests of the server have of it. */
  | { notRun: string }

export interface Client {
  /** In Markdown, as the table shows it. */
  name: string
  seen: Seen
  works: string
  needs: string
}

/** The table of docs/clients.md, but for what the runs say. */
export const clients: readonly Client[] = [
  {
    name: '[openai](#openai)',
    seen: {
      packages: ['openai', 'openai-7'],
      files: [
        ...['chat/openai', 'chat/openai-tools', 'chat/structured', 'chat/batches', 'chat/stored'],
        ...['responses/openai', 'decisions/openai', 'embeddings/embeddings', 'loop/loop'],
      ],
    },
    works:
      'chat, streams, `parse` with zod, tools and `runTools`, log-probabilities, Responses, stored completions, models',
    needs: 'nothing',
  },
  {
    name: "Vercel's [ai](#ai)",
    seen: {
      packages: ['ai'],
      files: [
        ...['chat/ai', 'chat/ai-tools', 'chat/structured', 'responses/ai', 'messages/ai'],
        ...['embeddings/embeddings', 'loop/loop'],
      ],
    },
    works: '`generateText`, `streamText`, `Output.object`, tools over several steps, by chat or Responses',
    needs: '`supportsStructuredOutputs: true` for `openai-compatible`, or it asks for any JSON',
  },
  {
    name: '[LangChain](#langchain)',
    seen: {
      packages: ['langchain', '@langchain/openai'],
      files: ['chat/langchain', 'embeddings/embeddings', 'loop/loop'],
    },
    works:
      '`invoke`, `stream`, `bindTools`, `withStructuredOutput` in its three modes, `createAgent`, `OpenAIEmbeddings`',
    needs: '`configuration.baseURL`',
  },
  {
    name: '[LlamaIndex](#llamaindex)',
    seen: {
      packages: ['@llamaindex/openai', '@llamaindex/workflow'],
      files: ['chat/llamaindex', 'embeddings/embeddings'],
    },
    works: 'chat, streams, tools, `exec`, agents, `responseFormat`, `OpenAIEmbedding`',
    needs: 'nothing',
  },
  {
    name: '[instructor](#instructor)',
    seen: { packages: ['@instructor-ai/instructor'], files: ['chat/instructor'] },
    works: 'TOOLS, streamed or not; JSON and JSON_SCHEMA, not streamed; the requests of FUNCTIONS',
    needs: 'schemas of `zod/v3`: it sends nothing of zod 4',
  },
  {
    name: '[@openai/agents](#openai-agents)',
    seen: { packages: ['@openai/agents'], files: ['chat/agents', 'responses/agents', 'mcp/agents'] },
    works: 'tools, hand-offs, structured final output, by chat or Responses',
    needs: '`tracingDisabled: true`, or it sends traces to OpenAI',
  },
  {
    name: '[@anthropic-ai/sdk](#anthropic)',
    seen: {
      packages: ['@anthropic-ai/sdk', 'anthropic-0'],
      files: ['messages/anthropic', 'messages/batches', 'loop/loop'],
    },
    works: 'messages, streams, tools, token counts, models, batches',
    needs: 'the address without `/v1`',
  },
  {
    name: '[ollama](#ollama)',
    seen: { packages: ['ollama'], files: ['ollama/ollama'] },
    works: '[everything](ollama.md) but changing models',
    needs: 'the address without `/v1`',
  },
  {
    name: "Open WebUI, VS Code, Continue's `ollama`",
    seen: { requestsOf: undefined, files: ['ollama/editors'] },
    works: 'their checks of a server, chats',
    needs: 'the address without `/v1`',
  },
  {
    name: 'Claude Code',
    seen: { requestsOf: '2.1.101', files: ['messages/claude-code'] },
    works: 'everything; images with a model on another server',
    needs: '[messages](messages.md)',
  },
  {
    name: '[Codex, opencode, Qwen Code, pi, Continue](#coding-agents)',
    seen: { byHand: '0.169, 1.18, 0.24, 0.73, 1.5', on: '2026-11-23' },
    works: 'their tools over several steps, streamed',
    needs: 'a model with a context of 32,768 tokens or more',
  },
  {
    name: '[weave](#weave)',
    seen: { packages: ['weave'], files: ['weave/weave', 'weave/prompts'] },
    works: 'calls, evaluations, datasets, feedback',
    needs: '`entity/project` as the name',
  },
  {
    name: "[Python's weave](#weave-in-python)",
    seen: { requestsOf: undefined, files: ['python/weave'] },
    works: 'calls, evaluations, datasets, feedback, costs, queues',
    needs: 'a client made by hand: `weave.init` asks W&B',
  },
  {
    name: "[Python's openai](#python)",
    seen: { packages: ["python's openai"], files: ['python/openai'] },
    works: 'the same as in JavaScript, `parse` with pydantic, raw answers, `AsyncOpenAI`',
    needs: 'nothing',
  },
  {
    name: '[promptfoo](#promptfoo)',
    seen: { requestsOf: '0.123.1', files: ['promptfoo'] },
    works: 'chat, text, Responses, answers that fit a schema, rubrics',
    needs: '`apiBaseUrl`',
  },
  {
    name: '[curl](#curl)',
    seen: { packages: ['curl'], files: ['chat/curl'] },
    works: 'everything',
    needs: 'nothing',
  },
  {
    name: 'OpenTelemetry',
    seen: { packages: ['@opentelemetry/exporter-trace-otlp-proto'], files: ['otel'] },
    works: 'spans become calls',
    needs: '[otel](otel.md)',
  },
  {
    name: 'OpenLLMetry, Langfuse',
    seen: { notRun: 'spans like theirs' },
    works: 'spans become calls',
    needs: '[otel](otel.md)',
  },
]
