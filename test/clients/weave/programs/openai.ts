import { createRequire } from 'node:module'
import OpenAI from 'openai'
import * as weave from 'weave'

const client = await weave.init(process.env.PROJECT as string)

// The OpenAI SDK reads the address of the model from OPENAI_BASE_URL.
const settings = { apiKey: 'no-secret', maxRetries: 0 }
// The expected type is that of version 4, whose `beta.chat` later versions lack.
type Wrappable = Parameters<typeof weave.wrapOpenAI>[0]
const wrapped = weave.wrapOpenAI(new OpenAI(settings) as unknown as Wrappable) as unknown as OpenAI
// Code that loads the package after the Weave SDK gets it wrapped.
const { OpenAI: Patched } = createRequire(import.meta.url)('openai') as { OpenAI: typeof OpenAI }
const patched = new Patched(settings)

const question = (content: string) => ({
  model: 'tiny-llm',
  temperature: 0.1,
  messages: [{ role: 'user' as const, content }],
})

const ask = weave.op(async function ask(content: string) {
  const answer = await wrapped.chat.completions.create(question(content))
  return answer.choices[0]?.message.content
})
const askStreaming = weave.op(async function askStreaming(content: string) {
  let text = ''
  const stream = await wrapped.chat.completions.create({ ...question(content), stream: true })
  for await (const chunk of stream) text += chunk.choices[0]?.delta.content ?? ''
  return text
})
const askPatched = weave.op(async function askPatched(content: string) {
  const answer = await patched.chat.completions.create(question(content))
  return answer.choices[0]?.message.content
})
const conversation = weave.op(async function conversation() {
  return [await ask('one'), await askStreaming('two'), await askPatched('three')]
})

const [answers, root] = await conversation.invoke()
const refused = await wrapped.chat.completions.create(question('refuse')).then(
  () => 'no error',
  (error: Error) => error.message,
)
await client.waitForBatchProcessing()

const done = { answers, refused, rootId: root.id as string }
export type Done = typeof done
console.log(JSON.stringify(done))
