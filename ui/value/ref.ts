/** What a reference names. */
export interface ParsedRef {
  project: string
  kind: 'object' | 'op' | 'table' | 'call'
  name: string
  /** A digest, `latest`, a number or an alias; empty for calls and tables. */
  version: string
}

const form =
  /^[a-z][a-z0-9+.-]*:\/\/\/([^/\s]+)\/([^/\s]+(?: +[^/\s]+)*)\/(object|op|table|call)\/([^/:\s]+)(?::([^/\s]+))?/

/** No reference is longer. Longer texts may be anything, and would exhaust the stack of a regular expression. */
const maxLength = 4_096

/** Undefined for any other text. */
export function parseRef(text: string): ParsedRef | undefined {
  if (text.length > maxLength) return undefined
  const [, entity, project, kind, name, version = ''] = form.exec(text) ?? []
  if (entity === undefined || project === undefined || kind === undefined || name === undefined)
    return undefined
  try {
    return {
      project: `${entity}/${project}`,
      kind: kind as ParsedRef['kind'],
      name: decodeURIComponent(name),
      version: decodeURIComponent(version),
    }
  } catch {
    return undefined
  }
}

/** Name and version of a referenced object; any other text, such as the name of a model, is returned unchanged. */
export const refName = (ref: string | null): string => {
  if (ref === null) return ''
  const [, name, version] = /\/object\/([^:/]+):?(.*)$/.exec(ref) ?? []
  if (name === undefined) return ref
  return version === undefined || version === '' ? name : `${name}:${version.slice(0, 8)}`
}

/** The id that the server makes of the name of an object. */
export const objectIdOf = (name: string): string =>
  name.toLowerCase().replace(/[ /]/g, '_').replace(/[<>]/g, '')

/** References contain entity and project unescaped, as clients and the server write them; names of objects are escaped. */
export const callRefOf = (project: string, call: string): string => `weave:///${project}/call/${call}`

/** To a whole conversation. */
export const threadRefOf = (project: string, thread: string): string =>
  `weave:///${project}/thread/${encodeURIComponent(thread)}`

export const objectRefOf = (project: string, name: string, version: string): string =>
  `weave:///${project}/object/${encodeURIComponent(name)}:${version}`

/** The class of an object in words: `StringPrompt` is a string prompt. */
export const classText = (name: string): string =>
  name
    .replace(/(?<=[a-z0-9])[A-Z]|(?<=[A-Z])[A-Z](?=[a-z])/g, ' $&')
    .replace(/ [A-Z](?=[a-z ]|$)/g, (letter) => letter.toLowerCase())
