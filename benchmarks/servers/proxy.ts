// The floor: passes requests and answers on as they are, without reading or recording anything.

import { Agent, createServer, request } from 'node:http'
import { readConfig } from '../../src/config.ts'

const { hostname, port } = new URL(String(process.env.PROXIED))
const agent = new Agent({ keepAlive: true, noDelay: true })
const { host, port: own } = readConfig(process.env)

createServer((asked, answer) => {
  const { url: path, method, headers } = asked
  const passedOn = request({ agent, hostname, port, path, method, headers }, (told) => {
    answer.writeHead(told.statusCode ?? 502, told.headers)
    told.pipe(answer)
  })
  passedOn.once('error', (error) => answer.destroy(error))
  asked.pipe(passedOn)
}).listen(own, host)
