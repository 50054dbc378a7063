import { eventTexts, RefusedError, type RequestOptions, request } from './request.ts'

interface ChatAsked {
  project: string
  thread: string
  /** As JSON. */
  body: string
  signal: AbortSignal
}

interface ChatHeard {
  /** Undefined where the answer is not recorded. */
  callId: string | undefined
  /** What was widened in the schemas of tools. */
  widened: string | undefined
  /** The JSON of each event; of a whole answer there is one. */
  events: AsyncGenerator<string>
  isStream: boolean
}

/** Resolves with the headers of the answer. Aborting the signal frees its slot. */
export async function askChat({ project, thread, body, signal }: ChatAsked): Promise<ChatHeard> {
  const headers = {
    'x-heddle-project': headerText(project),
    ...(thread !== '' && { 'x-heddle-thread': headerText(thread) }),
  }
  const asked: RequestOptions = { json: body, headers, signal }
  const response = await request('/v1/chat/completions', asked)
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') ?? false
  const widened = response.headers.get('x-heddle-widened')
  return {
    callId: response.headers.get('x-heddle-call-id') ?? undefined,
    widened: widened === null ? undefined : decodeURIComponent(widened),
    events: isStream ? eventsOf(response) : wholeOf(response),
    isStream,
  }
}

/** A header holds bytes, and a script passes them as characters. */
const headerText = (text: string) => String.fromCharCode(...new TextEncoder().encode(text))

async function* wholeOf(response: Response): AsyncGenerator<string> {
  yield await response.text()
}

async function* eventsOf(response: Response): AsyncGenerator<string> {
  for await (const event of eventTexts(response)) {
    if (!event.startsWith('data: ')) continue
    const data = event.slice('data: '.length)
    if (data === '[DONE]') return
    if (data.startsWith('{"error"')) throw failureIn(data)
    yield data
  }
}

/** A failure after the headers had already reported success. */
function failureIn(data: string): RefusedError {
  const { error } = JSON.parse(data) as { error: { message: string; code: string; param: string | null } }
  return new RefusedError(200, error.code, error.message, error.param ?? undefined)
}
