import { pairs } from '../support/server.ts'

/** A client that disconnects from a gateway also ends its request to the upstream. */
pairs.isOn = true
await import('./chat-leaving.long.test.ts')
