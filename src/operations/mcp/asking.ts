import { FilterError } from '../../../packages/filter/index.ts'
import { Refusal } from '../../domain/refusals.ts'
import { askInside } from '../../http/inside.ts'

type Inside = Parameters<typeof askInside>[1]

/** What a tool may not do, in words from which an agent can tell what to change. */
export class ToolError extends Error {
  override readonly name = 'ToolError'
  /** Of the refusal behind it. */
  readonly code: string | undefined
  constructor(message: string, code?: string) {
    super(message)
    this.code = code
  }
}

/** The record as the caller of a tool sees it: every answer is that of a route. */
export interface Asking {
  caller: Inside['caller']
  signal: AbortSignal
  /** Logs a fault of the server. */
  failed(error: unknown): void
  /** The scheme of references. */
  scheme: string
  get<Answer>(url: string): Promise<Answer>
  post<Answer>(url: string, body: object, headers?: Record<string, string>): Promise<Answer>
  /** Of a route that answers with JSON Lines. */
  lines<Line>(url: string, body: object): Promise<Line[]>
  /** The answer as it was sent. A body that is a text is JSON. */
  text(url: string, body: object | string): Promise<string>
}

export function createAsking(app: Parameters<typeof askInside>[0], inside: Inside, scheme: string): Asking {
  async function ask(
    method: 'GET' | 'POST',
    url: string,
    body?: object | string,
    headers?: Record<string, string>,
  ): Promise<string> {
    const json = typeof body === 'object' ? JSON.stringify(body) : body
    const { status, text } = await askInside(app, inside, { method, url, body: json, headers })
    if (status >= 400) throw refusedError(text, status)
    return text
  }
  return {
    caller: inside.caller,
    signal: inside.signal,
    failed: (error) => {
      if (!inside.signal.aborted) app.log.error({ err: error }, 'a tool failed')
    },
    scheme,
    get: async (url) => JSON.parse(await ask('GET', url)),
    post: async (url, body, headers) => JSON.parse(await ask('POST', url, body, headers)),
    lines: async (url, body) =>
      (await ask('POST', url, body))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line)),
    text: (url, body) => ask('POST', url, body),
  }
}

/** In the form of the record, or in that of OpenAI under /v1. */
function refusedError(text: string, status: number): ToolError {
  let refusal: { reason?: string; code?: string; error?: { message?: string; code?: string } } = {}
  try {
    refusal = JSON.parse(text)
  } catch {
    // An answer that was cut off.
  }
  const { reason, error } = refusal
  const code = refusal.code ?? error?.code
  return new ToolError(
    `${reason ?? error?.message ?? 'The server could not answer.'} (${status} ${code ?? ''})`,
    code,
  )
}

/** The message of what a caller can change; undefined for faults of the server. */
export function mistakeOf(error: unknown): string | undefined {
  if (error instanceof FilterError) return `filter: ${error.message}`
  return error instanceof ToolError || error instanceof Refusal ? error.message : undefined
}

/** The halves of a project in a URL. */
export const pathOf = (project: string): string => project.split('/').map(encodeURIComponent).join('/')

/** The latest version of an object that is given by its name; a reference stays as it is. */
export const refOf = ({ scheme }: Asking, project: string, name: string): string =>
  name.includes(':///')
    ? name
    : `${scheme}:///${project}/object/${name}${name.includes(':') ? '' : ':latest'}`
