import * as weave from 'weave'

/** A prompt of the SDK with the members that the server reads besides. */
const supportWith = (content: string) =>
  Object.assign(new weave.MessagesPrompt({ name: 'support', messages: [{ role: 'system', content }] }), {
    settings: { temperature: 0, max_tokens: 20 },
    variables: { customer: { type: 'string' } },
  })

const client = await weave.init(process.env.PROJECT as string)
const first = await client.publish(supportWith('You help {customer}.'))
const second = await client.publish(supportWith('You help {customer} kindly.'))
await client.publish(new weave.StringPrompt({ name: 'ask', content: 'Capital of {country}?' }))
await client.waitForBatchProcessing()

const read = await weave.MessagesPrompt.get(client, first.uri())
const done = {
  digests: [first.digest, second.digest],
  formatted: read.format({ customer: 'Ada' }),
}
export type Done = typeof done
console.log(JSON.stringify(done))
