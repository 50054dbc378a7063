// Measures the built-in model: `node scripts/score-model.ts CONVERSATIONS.jsonl… [--model FILE] [--show]`. Each line is
// a conversation and what must come next; the model continues it in the engine, at temperature 0.
import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { Template } from '@huggingface/jinja'
import { getLlama, type LlamaContextSequence, LlamaLogLevel, type LlamaModel } from 'node-llama-cpp'
import { type Expectation, isRight } from './model-answers.ts'

interface Conversation {
  skill: string
  messages: { role: string; content: string }[]
  tools?: unknown[]
  documents?: unknown[]
  thinking?: string | null
  /** The prompt that the generator of the conversation expects; the model's own template must give the same. */
  prompt?: string
  expect: Expectation
}

const most = 450

const { values: options, positionals: files } = parseArgs({
  allowPositionals: true,
  options: {
    model: {
      type: 'string',
      default: fileURLToPath(new URL('../models/builtin/heddle-tiny.gguf', import.meta.url)),
    },
    show: { type: 'boolean', default: false },
  },
})

const llama = await getLlama({ gpu: false, build: 'never', maxThreads: 1, logLevel: LlamaLogLevel.error })
const model = await llama.loadModel({ modelPath: options.model })
const context = await model.createContext({ contextSize: 2048, threads: 1 })
const sequence = context.getSequence()
const template = new Template(model.fileInfo.metadata.tokenizer.chat_template ?? '')

const scores = new Map<string, { right: number; all: number }>()
let tokens = 0
const began = performance.now()
for (const file of files) {
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    if (line === '') continue
    const conversation: Conversation = JSON.parse(line)
    const prompt = promptOf(conversation)
    const answer = await continued(model, sequence, prompt)
    const right = answer !== undefined && isRight(answer, conversation.expect)
    const score = scores.get(conversation.skill) ?? { right: 0, all: 0 }
    scores.set(conversation.skill, { right: score.right + Number(right), all: score.all + 1 })
    if (!right && options.show) {
      const asked = JSON.stringify(conversation.messages.at(-1)?.content)
      console.log(
        `[${conversation.skill}] ${asked} → ${JSON.stringify(answer)} (${JSON.stringify(conversation.expect).slice(0, 160)})`,
      )
    }
  }
}
const seconds = (performance.now() - began) / 1000
for (const [skill, { right, all }] of scores) {
  console.log(`| ${skill} | ${right} of ${all} | ${((100 * right) / all).toFixed(0)} % |`)
}
console.log(`${tokens} tokens read and written in ${seconds.toFixed(0)} s`)
await llama.dispose()

function promptOf({ messages, tools, documents, thinking, prompt }: Conversation): string {
  const rendered = template.render({
    messages,
    tools: tools?.length ? tools : null,
    documents: documents?.length ? documents : null,
    add_generation_prompt: true,
    ...(thinking && { enable_thinking: true }),
    ...(thinking && thinking !== 'on' && { reasoning_effort: thinking }),
  })
  if (prompt !== undefined && prompt !== rendered) {
    throw new Error(`The template makes ${JSON.stringify(rendered)}, the generator ${JSON.stringify(prompt)}`)
  }
  return rendered
}

/** The text before the end token, or nothing if that token does not come. */
async function continued(
  model: LlamaModel,
  sequence: LlamaContextSequence,
  prompt: string,
): Promise<string | undefined> {
  const before = model.tokenize(prompt, true)
  const said: typeof before = []
  await sequence.clearHistory()
  for await (const token of sequence.evaluate(before, { temperature: 0, yieldEogToken: true })) {
    if (model.isEogToken(token)) {
      tokens += before.length + said.length
      return model.detokenize(said, true)
    }
    if (said.push(token) === most) break
  }
  tokens += before.length + said.length
  return undefined
}
