import { pairs } from '../support/server.ts'

/** The chat tests that need only HTTP, with a gateway in front of the server with the model. */
pairs.isOn = true
await import('./chat.test.ts')
await import('./chat-same.long.test.ts')
await import('./chat-constraints.long.test.ts')
