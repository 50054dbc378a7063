import { pairs } from '../support/server.ts'

/** The effect of each field of a chat completion, through a gateway. */
pairs.isOn = true
await import('./chat-parameters.test.ts')
