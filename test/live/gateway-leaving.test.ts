import { pairs } from '../support/server.ts'

/** Who leaves a gateway leaves the server behind it, too. */
pairs.isOn = true
await import('./chat-leaving.test.ts')
