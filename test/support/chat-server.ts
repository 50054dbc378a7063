import assert from 'node:assert/strict'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { keys } from './app.ts'
import { asking, chatUrl, choiceOf, eventsOf } from './chat.ts'
import { type RandomModelShape, writeRandomModel } from './random-model.ts'
import { newFolder, type RunningServer, startServer } from './server.ts'
import { until } from './wait.ts'

/** An answer as it was received. */
export interface ReceivedAnswer {
  status: number
  text: string
  // biome-ignore lint/suspicious/noExplicitAny: an answer is compared, never trusted
  json: any
}

export interface Logprob {
  token: string
  bytes: number[]
  logprob: number
  top_logprobs: Omit<Logprob, 'top_logprobs'>[]
}

export interface AnswerChoice {
  role: string | undefined
  content: string
  tokens: number[]
  logprobs: Logprob[]
  finish_reason: string | null | undefined
  stop_reason: unknown
}

/** The content of an answer, whole or streamed. */
export interface AnswerContent {
  id: string
  model: string
  choices: AnswerChoice[]
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number; cached: number }
  promptTokens: number[]
}

export interface ChatServer extends RunningServer {
  /** The data folder. */
  folder: string
  /** The model's file, as in HEDDLE_MODEL. */
  model: string
  ask(fields?: Record<string, unknown>, init?: Parameters<RunningServer['post']>[2]): Promise<ReceivedAnswer>
  /** Also asks for token ids and usage; the request has to succeed. */
  said(fields?: Record<string, unknown>): Promise<AnswerContent>
  tokenize(prompt: string): Promise<number[]>
  detokenize(tokens: readonly number[]): Promise<string>
  /** A figure for Prometheus, with all labels as they are written but that of the model: the sum of all models. */
  figure(name: string): Promise<number>
}

/**
 * The command as a user runs it, with a model behind it: the built-in one, or a random one, whose words make no sense.
 * The random model gives the same sums in batches of every size, so that its answers can be compared.
 */
export async function startChatServer(
  t: Pick<TestContext, 'after'>,
  {
    model,
    settings = {},
  }: { model: Partial<RandomModelShape> | 'builtin'; settings?: Record<string, string> },
): Promise<ChatServer> {
  const folder = await newFolder(t)
  const file = model === 'builtin' ? model : join(folder, 'random.gguf')
  if (model !== 'builtin')
    await writeRandomModel(file, { weights: 'q8_0', hidden: 64, context: 1024, ...model })
  const server = await startServer(t, {
    HEDDLE_DATA: folder,
    HEDDLE_MODEL: file,
    HEDDLE_THREADS: '1',
    ...settings,
  })
  await until('the model is ready', async () => (await server.get('/ready')).status === 200)

  const ask: ChatServer['ask'] = async (fields = {}, init) => {
    const answer = await server.post(chatUrl, asking(fields), init)
    return readAnswer(answer)
  }

  async function tokens<Value>(url: string, body: object): Promise<Value> {
    const answer = await server.post(url, body)
    assert.equal(answer.status, 200)
    return (await answer.json()) as Value
  }

  return {
    ...server,
    folder,
    model: file,
    ask,
    async said(fields = {}) {
      const { status, text, json } = await ask({
        return_token_ids: true,
        ...(fields.stream === true && { stream_options: { include_usage: true } }),
        ...fields,
      })
      assert.equal(status, 200, `${JSON.stringify(fields)}: ${text}`)
      return fields.stream === true ? streamed(text) : whole(json)
    },
    tokenize: async (prompt) =>
      (await tokens<{ tokens: number[] }>('/tokenize', { prompt, add_special_tokens: false })).tokens,
    detokenize: async (ids) => (await tokens<{ prompt: string }>('/detokenize', { tokens: ids })).prompt,
    async figure(name) {
      const text = await (await server.get('/metrics', keys.root)).text()
      const lines = text.replaceAll(/\{model_name="[^"]*"\}|model_name="[^"]*",/g, '').split('\n')
      const found = lines.filter((line) => line.startsWith(`${name} `))
      const metric = name.replace(/\{.*/, '').replace(/_(?:count|sum)$/, '')
      assert.ok(text.includes(`# TYPE ${metric} `), `there is a figure ${name}`)
      return found.reduce((sum, line) => sum + Number(line.slice(name.length + 1)), 0)
    },
  }
}

async function readAnswer(answer: Response): Promise<ReceivedAnswer> {
  const text = await answer.text()
  const isJson = answer.headers.get('content-type')?.startsWith('application/json')
  return { status: answer.status, text, json: isJson ? JSON.parse(text) : undefined }
}

function whole(json: ReceivedAnswer['json']): AnswerContent {
  return {
    id: json.id,
    model: json.model,
    choices: json.choices.map((choice: ReceivedAnswer['json']) => ({
      role: choice.message.role,
      content: choice.message.content,
      tokens: choice.token_ids,
      logprobs: choice.logprobs?.content ?? [],
      finish_reason: choice.finish_reason,
      stop_reason: choice.stop_reason,
    })),
    usage: usageOf(json.usage),
    promptTokens: json.prompt_token_ids,
  }
}

function streamed(text: string): AnswerContent {
  const { chunks, error } = eventsOf(text)
  assert.equal(error, undefined)
  const [first] = chunks
  const last = chunks.at(-1)
  assert.ok(first !== undefined && last?.usage !== undefined && last.choices.length === 0)
  const count = new Set(chunks.flatMap(({ choices }) => choices.map(({ index }) => index))).size
  return {
    id: first.id,
    model: first.model,
    choices: Array.from({ length: count }, (_, index) => choiceOf(chunks, index)),
    usage: usageOf(last.usage),
    promptTokens: first.prompt_token_ids ?? [],
  }
}

function usageOf({
  prompt_tokens,
  completion_tokens,
  total_tokens,
  prompt_tokens_details,
}: ReceivedAnswer['json']) {
  return { prompt_tokens, completion_tokens, total_tokens, cached: prompt_tokens_details.cached_tokens }
}
