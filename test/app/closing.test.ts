import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { test } from 'node:test'
import { openApp } from '../support/app.ts'
import { withTimeout } from '../support/wait.ts'

test('closing does not wait for a connection that a browser opened in advance', async () => {
  const ends: (() => Promise<void>)[] = []
  const { app } = await openApp({ after: (end) => ends.push(end) })
  await app.listen({ host: '127.0.0.1', port: 0 })
  const socket = connect((app.server.address() as AddressInfo).port, '127.0.0.1')
  const ended = once(socket, 'close')
  await Promise.all([once(socket, 'connect'), once(app.server, 'connection')])
  socket.resume()
  await withTimeout('the app closes', Promise.all(ends.map((end) => end())))
  await withTimeout('the connection ends', ended)
})
