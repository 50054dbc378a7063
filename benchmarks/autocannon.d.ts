/** The part of autocannon that is used here: it comes without types. */
declare module 'autocannon' {
  import type { EventEmitter } from 'node:events'

  export interface Client {
    /** Requests after which the client is done, and how many it has made. Not documented: see load.ts. */
    responseMax: number
    reqsMade: number
  }

  export interface Request {
    path: string
    body: string
    /** Asked each time. The context is that of the connection, and new whenever the requests begin again. */
    setupRequest?(request: Request, context: Record<string, unknown>): Request
  }

  export interface Options {
    url: string
    method: 'POST'
    headers: Record<string, string>
    requests: Request[]
    connections: number
    duration: number
    maxConnectionRequests: number
    sampleInt: number
    setupClient(client: Client): void
  }

  export interface Result {
    non2xx: number
    errors: number
    timeouts: number
    '2xx': number
    statusCodeStats: Record<string, { count: number }>
  }

  export interface Run extends EventEmitter, Promise<Result> {
    on(
      event: 'response',
      seen: (client: Client, status: number, bytes: number, milliseconds: number) => void,
    ): this
  }

  export default function autocannon(options: Options): Run
}
