import * as weave from 'weave'

const project = process.env.PROJECT as string
const client = await weave.init(project)

/** An image of one pixel. */
const png = Buffer.from(
  'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==',
  'base64',
)
/** Silence, and every possible byte. */
const wav = Buffer.concat([Buffer.from('RIFF'), Buffer.from(Array.from({ length: 256 }, (_, byte) => byte))])

const dataset = new weave.Dataset({
  name: 'pictures',
  rows: [
    { n: 1, picture: weave.weaveImage({ data: png }) },
    { n: 2.5, picture: null },
    { n: 1, picture: weave.weaveImage({ data: png }) },
  ],
})
const datasetRef = await dataset.save()

const settings = { temperature: 0.1, stops: ['\n', '🛑'], nested: { large: 1e21, none: null } }
const first = await client.publish({ ...settings, revision: 1 }, 'settings')
const second = await client.publish({ ...settings, revision: 2 }, 'settings')
const again = await client.publish({ ...settings, revision: 1 }, 'settings')

const prompt = await client.publish(new weave.StringPrompt({ name: 'ask', content: 'Capital of {country}?' }))
const messages = await client.publish(
  new weave.MessagesPrompt({ name: 'chat', messages: [{ role: 'system', content: 'You know {topic}.' }] }),
)
const sound = await client.publish(weave.weaveAudio({ data: wav }), 'sound')

const draw = weave.op(
  () => ({ picture: weave.weaveImage({ data: png }), sounds: [weave.weaveAudio({ data: wav })] }),
  {
    name: 'draw',
  },
)
const [, drawn] = await draw.invoke()
await client.waitForBatchProcessing()

const loaded = (await datasetRef.get()) as typeof dataset
const rows = loaded.rows.rows.map((row) => ({ ...row, __savedRef: undefined }))
const rowDigests = loaded.rows.rows.map(
  (row) => (row as { __savedRef?: { rowDigest: string } }).__savedRef?.rowDigest,
)
const missing = await client
  .get(new weave.ObjectRef(project, 'settings', 'nothing'))
  .then(() => 200)
  .catch((error: Response) => error.status)

const done = {
  dataset: { name: loaded.name, rows, rowDigests },
  digests: [first.digest, second.digest, again.digest],
  values: [await first.get(), await client.get(second), await again.get()],
  latest: await weave.ObjectRef.fromUri(`weave:///${project}/object/settings`).get(),
  prompt: ((await prompt.get()) as weave.StringPrompt).format({ country: 'Chad' }),
  messages: (await weave.MessagesPrompt.get(client, messages.uri())).format({ topic: 'maps' }),
  sound: await sound.get(),
  missing,
  drawn: (await client.getCall(drawn.id as string)).output,
  png: png.toString('base64'),
  wav: wav.toString('base64'),
}
export type Done = typeof done
console.log(JSON.stringify(done))
