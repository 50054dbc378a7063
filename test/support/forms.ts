import { type Answer, basic, keys, type TestApp } from './app.ts'

export interface FormPart {
  name: string
  value: string | Uint8Array
  /** Makes it a file. */
  filename?: string
}

export const boundary = 'form-boundary-of-a-test'

export const formType = `multipart/form-data; boundary=${boundary}`

export function formOf(parts: readonly FormPart[]): Buffer {
  const pieces = parts.flatMap(({ name, value, filename }) => {
    const file =
      filename === undefined ? '' : `; filename="${filename}"\r\nContent-Type: application/octet-stream`
    return [
      `--${boundary}\r\nContent-Disposition: form-data; name="${name}"${file}\r\n\r\n`,
      value,
      '\r\n',
    ].map((piece) => Buffer.from(piece as string))
  })
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)])
}

/** The form that the clients send: the project, then the file. */
export function fileForm(project: string, value: string | Uint8Array): Buffer {
  return formOf([
    { name: 'project_id', value: project },
    { name: 'file', value, filename: 'blob' },
  ])
}

export interface SentForm {
  url?: string
  authorization?: string
  type?: string
}

export async function sendForm(
  { app }: Pick<TestApp, 'app'>,
  payload: Buffer,
  { url = '/file/create', authorization = basic(keys.alice), type = formType }: SentForm = {},
): Promise<Pick<Answer, 'status' | 'json' | 'text'>> {
  const headers = { 'content-type': type, ...(authorization !== '' && { authorization }) }
  const answer = await app.inject({ method: 'POST', url, headers, payload })
  return { status: answer.statusCode, json: answer.json(), text: answer.body }
}

/** The bytes of a stored file; undefined if it does not exist. */
export async function contentOf(
  { app }: Pick<TestApp, 'app'>,
  project_id: string,
  digest: string,
  key = keys.alice,
): Promise<Buffer | undefined> {
  const headers = { authorization: basic(key), 'content-type': 'application/json' }
  const answer = await app.inject({
    method: 'POST',
    url: '/file/content',
    headers,
    payload: JSON.stringify({ project_id, digest }),
  })
  return answer.statusCode === 200 ? answer.rawPayload : undefined
}
