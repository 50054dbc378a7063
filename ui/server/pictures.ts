import { pictureUrl } from '../../packages/conversations/index.ts'
import { contents, questionOf } from '../export/contents.ts'
import { request } from './request.ts'

/** What stands in a request for a picture that is a file, and the member that it is in. */
const stored =
  /("data":)?\{"_type":"CustomWeaveType","weave_type":\{"type":"weave\.type_wrappers\.Content\.[^{}]*\},"files":\{"content":"(\w+)"[^{}]*\}\}/g

const path = '/file/content'
const bodyOf = (project: string, digest: string) => ({ project_id: project, digest })

const responseOf = (project: string, digest: string, signal: AbortSignal) =>
  request(path, { body: bodyOf(project, digest), signal })

/** Where the page finds a picture, read with the rights of the user. Browsers tell its type by its bytes. */
export async function addressOfPicture(...of: Parameters<typeof responseOf>): Promise<string> {
  const response = await responseOf(...of)
  return contents === undefined ? URL.createObjectURL(await response.blob()) : response.text()
}

/** The same as a data URL; undefined if it is no picture. */
async function readPicture(project: string, digest: string, signal: AbortSignal) {
  const reader = new FileReader()
  reader.readAsDataURL(await (await responseOf(project, digest, signal)).blob())
  await new Promise((resolve) => {
    reader.onloadend = resolve
  })
  return pictureUrl(String(reader.result).replace(/^.*,/, ''))
}

/** The JSON text as it was sent, with its pictures. */
export async function withPictures(project: string, json: string, signal: AbortSignal): Promise<string> {
  let text = ''
  let copied = 0
  for (const { 0: object, 1: data, 2: digest = '', index } of json.matchAll(stored)) {
    const url = await readPicture(project, digest, signal)
    if (url === undefined) continue
    const value = JSON.stringify(data === undefined ? url : url.slice(url.indexOf(',') + 1))
    text += json.slice(copied, index) + (data ?? '') + value
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
    [...answers.values()].flatMap((text) => [...text.matchAll(stored)].map(([, , digest = '']) => digest)),
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
