import { pairs } from '../support/server.ts'

/** What each field of a chat completion does, through a gateway. */
pairs.isOn = true
await import('./chat-parameters.test.ts')
