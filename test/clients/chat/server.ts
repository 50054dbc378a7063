import { keys, openApp, type TestParts } from '../../support/app.ts'
import { type Script, type ScriptedBackend, scriptedBackend } from '../../support/scripted-backend.ts'

interface Ending {
  after(close: () => Promise<void>): void
}

export interface ChatServer {
  /** The `baseURL` option of OpenAI's clients. */
  baseURL: string
  apiKey: string
  backend: ScriptedBackend
}

/** The server on a separate port, with a model that follows a script. */
export async function startChat(t: Ending, script?: Script, parts: TestParts = {}): Promise<ChatServer> {
  const backend = scriptedBackend(script)
  const { app } = await openApp(t, { backend, ...parts })
  const address = await app.listen({ host: '127.0.0.1', port: 0 })
  return { baseURL: `${address}/v1`, apiKey: keys.alice, backend }
}
