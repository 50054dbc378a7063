import { pictureUrl } from '../../packages/conversations/index.ts'
import { contents, questionOf } from '../export/contents.ts'
import { request } from './request.ts'

/** What stands in a request for a picture or a sound that is a file. */
const stored =
  /\{"_type":"CustomWeaveType","weave_type":\{"type":"weave\.type_wrappers\.Content\.[^{}]*\},"files":\{"content":"(\w+)","metadata\.json":"(\w+)"\}\}/g

const path = '/file/content'
const bodyOf = (project: string, digest: string) => ({ project_id: project, digest })

const responseOf = (project: string, digest: string, signal: AbortSignal) =>
  request(path, { body: bodyOf(project, digest), signal })

/** Where the page finds a picture, read with the rights of the user. Browsers tell its type by its bytes. */
export async function addressOfPicture(...of: Parameters<typeof responseOf>): Promise<string> {
  const response = await responseOf(...of)
  return contents === undefined ? URL.createObjectURL(await response.blob()) : response.text()
}

async function readBase64(project: string, digest: string, signal: AbortSignal): Promise<string> {
  const reader = new FileReader()
  reader.readAsDataURL(await (await responseOf(project, digest, signal)).blob())
  await new Promise((resolve) => {
    reader.onloadend = resolve
  })
  return String(reader.result).replace(/^.*,/, '')
}

/** The same as a data URL; undefined if it is no picture. */
const readPicture = async (...of: Parameters<typeof responseOf>) => pictureUrl(await readBase64(...of))

/** As it was sent: base64 alone, or a data URL. */
async function writtenAs(project: string, base64: string, metadata: string, signal: AbortSignal) {
  const response = await responseOf(project, metadata, signal)
  const { mimetype, content_type } = (await response.json()) as { mimetype: string; content_type: string }
  return content_type === 'base64' ? base64 : `data:${mimetype};base64,${base64}`
}

/** The JSON text as it was sent, with its pictures and sounds. */
export async function withPictures(project: string, json: string, signal: AbortSignal): Promise<string> {
  let text = ''
  let copied = 0
  for (const { 0: object, 1: digest = '', 2: metadata = '', index } of json.matchAll(stored)) {
    const base64 = await readBase64(project, digest, signal)
    const value = JSON.stringify(await writtenAs(project, base64, metadata, signal))
    text += json.slice(copied, index) + value
    copied = index + object.length
  }
  return text + json.slice(copied)
}

export const tooLarge = () => new Error('This is too large for one file.')

/**
 * Keeps the pictures of kept answers, for an exported file. Those that cannot be read are missing there, too. The signal
 * is not the one under which responses are kept: these are bytes.
 */
export async function capturePictures(
  project: string,
  answers: Map<string, string>,
  maxCharacters: number,
  signal: AbortSignal,
): Promise<void> {
  const digests = new Set(
    [...answers.values()].flatMap((text) => [...text.matchAll(stored)].map(([, digest = '']) => digest)),
  )
  let characters = 0
  for (const digest of digests) {
    const url = await readPicture(project, digest, signal).catch(() => undefined)
    signal.throwIfAborted()
    characters += url?.length ?? 0
    if (characters > maxCharacters) throw tooLarge()
    if (url !== undefined) answers.set(questionOf(path, JSON.stringify(bodyOf(project, digest))), url)
  }
}
