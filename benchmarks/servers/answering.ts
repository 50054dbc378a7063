// A model server that takes no time: what is measured in front of it is what the way there costs.

import { createServer, type ServerResponse } from 'node:http'
import { readConfig } from '../../src/config.ts'

const { host, port } = readConfig(process.env)
const words = ['The', ' capital', ' of', ' Mali', ' is', ' Bamako', '.', '']
const usage = { prompt_tokens: 14, completion_tokens: words.length, total_tokens: 14 + words.length }
const head = { id: 'chatcmpl-1', created: 1_700_000_000, model: 'far' }
const whole = JSON.stringify({
  ...head,
  object: 'chat.completion',
  choices: [{ index: 0, message: { role: 'assistant', content: words.join('') }, finish_reason: 'stop' }],
  usage,
})
const chunk = (fields: object) =>
  `data: ${JSON.stringify({ ...head, object: 'chat.completion.chunk', ...fields })}\n\n`
const pieces = [
  ...words.map((content, i) =>
    chunk({
      choices: [{ index: 0, delta: { content }, finish_reason: i === words.length - 1 ? 'stop' : null }],
    }),
  ),
  `${chunk({ choices: [], usage })}data: [DONE]\n\n`,
]
const list = JSON.stringify({ object: 'list', data: [{ id: 'far', object: 'model', owned_by: 'nobody' }] })

/** A piece in each turn of the loop, as tokens come one by one. */
function stream(answer: ServerResponse, next = 0): void {
  const piece = pieces[next]
  if (piece === undefined) return void answer.end()
  answer.write(piece)
  setImmediate(stream, answer, next + 1)
}

createServer((asked, answer) => {
  if (asked.method === 'GET') return void answer.setHeader('content-type', 'application/json').end(list)
  let body = ''
  asked.setEncoding('utf8')
  asked.on('data', (piece: string) => {
    body += piece
  })
  asked.once('end', () => {
    const { stream: isStreamed } = JSON.parse(body) as { stream?: boolean }
    answer.writeHead(200, { 'content-type': isStreamed ? 'text/event-stream' : 'application/json' })
    if (isStreamed) stream(answer)
    else answer.end(whole)
  })
}).listen(port, host)
