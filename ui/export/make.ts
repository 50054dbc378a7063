import { base } from '../base.ts'
import { saveAs } from '../parts/save-as.ts'
import { capturePictures, tooLarge } from '../server/pictures.ts'
import { captureAnswers } from '../server/request.ts'
import { currentUser } from '../server/session.ts'
import type { Contents } from './contents.ts'

/** Name of the template of the file, as the build gave it. */
declare const exportTemplate: string

/** Where the contents are inserted, as written in `file.html`. */
const opening = '<script type="application/json" id="contents">'

/** Browsers cannot make strings of more than half a billion characters, and nobody would send such a file. */
const mostCharacters = 200_000_000

/** An exportable screen; `collect` sends every request that the screen makes, under the signal that it is given. */
export interface Exported {
  title: string
  project: string
  path: string
  /** A part of the file's name. */
  name: string
  collect(kept: Map<string, string>, signal: AbortSignal): Promise<Pick<Contents, 'holds' | 'rows'>>
}

/** Saves a screen as one HTML file that needs no server. Returns sentences that say what it contains. */
export async function exportScreen(exported: Exported, signal: AbortSignal): Promise<readonly string[]> {
  const { title, project, path, name, collect } = exported
  const answers = new Map<string, string>()
  const own = new AbortController()
  signal.addEventListener('abort', () => own.abort(signal.reason), { once: true })
  captureAnswers(own.signal, answers)
  const { holds, rows } = await collect(answers, own.signal)
  await capturePictures(project, answers, mostCharacters, signal)
  const length = [...answers.values()].reduce((all, text) => all + text.length, 0)
  if (length > mostCharacters) throw tooLarge()
  const contents: Contents = {
    title,
    project,
    path: path.slice(base.length),
    madeAt: new Date().toISOString(),
    madeBy: currentUser.value?.user ?? '',
    version: currentUser.value?.version ?? '',
    holds,
    ...(rows !== undefined && { rows }),
    answers: [...answers],
  }
  const response = await fetch(base + exportTemplate, { signal })
  if (!response.ok) throw new Error('The server has been updated. Reload the page.')
  const template = await response.text()
  const at = template.indexOf(opening) + opening.length
  // No text may close the script element that contains it.
  const json = JSON.stringify(contents).replaceAll('<', '\\u003c')
  saveAs(
    new Blob([template.slice(0, at), json, template.slice(at)], { type: 'text/html' }),
    fileName(project, name),
  )
  return holds
}

const fileName = (project: string, name: string) =>
  `${project}-${name}`.replace(/[^\w.-]+/g, '-').concat('.html')
