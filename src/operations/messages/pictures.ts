import type { GivenPart } from '../../inference/prompt/conversation.ts'
import { wrong } from '../generation/checks.ts'
import type { ResultBlock } from './fields.ts'

/** A picture in the form of chat completions. */
export function pictureOf({ source }: ResultBlock, path: string): GivenPart {
  const { type, media_type, data, url } = source ?? {}
  if (type === 'base64') {
    if (media_type == null) throw wrong(`${path}.source.media_type`, 'nothing', 'a type such as image/png')
    if (data == null) throw wrong(`${path}.source.data`, 'nothing', 'the picture in base64')
    return { type: 'image_url', image_url: { url: `data:${media_type};base64,${data}` } }
  }
  if (type !== 'url')
    throw wrong(`${path}.source.type`, type == null ? 'nothing' : JSON.stringify(type), 'base64, url')
  if (url == null) throw wrong(`${path}.source.url`, 'nothing', 'the address of a picture')
  return { type: 'image_url', image_url: { url } }
}
