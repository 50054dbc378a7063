import { pairs } from '../support/server.ts'

/** The tests of chat that need HTTP alone, with a gateway in front of the server that has the model: the same results. */
pairs.isOn = true
await import('./chat.test.ts')
await import('./chat-same.test.ts')
await import('./chat-constraints.test.ts')
