import { existsSync, readFileSync, writeFileSync } from 'node:fs'

/** The npm script that produces the results; it also marks them in the file. */
export type Script = 'record' | 'chat' | 'loop' | 'gateway' | 'conversations' | 'speculation'

const beginOf = (script: Script) =>
  `<!-- results: written by \`npm run ${script} -- --markdown\`, all that stands here is replaced -->`
const end = '<!-- end of results -->'

/** Printed during the measurement, and Markdown as it stands. */
export class Report {
  readonly #script: Script
  readonly #paragraphs: string[] = []

  constructor(script: Script) {
    this.#script = script
  }

  say(paragraph: string): void {
    console.log(`${paragraph}\n`)
    this.#paragraphs.push(paragraph)
  }

  /** Puts the report between the marks of the file, or creates a file with nothing else. */
  write(file: string): void {
    const around = existsSync(file) ? marked(file, this.#script) : { before: '', after: '\n' }
    const text = [beginOf(this.#script), ...this.#paragraphs, end].join('\n\n')
    writeFileSync(file, `${around.before}${text}${around.after}`)
  }
}

/** Fails early: a run that takes minutes should not find at its end that there is nowhere to write. */
export function refuseWithoutPlace(file: string, script: Script): void {
  if (existsSync(file)) marked(file, script)
}

/** The text before and after the results. */
function marked(file: string, script: Script): { before: string; after: string } {
  const begin = beginOf(script)
  const text = readFileSync(file, 'utf8')
  const from = text.indexOf(begin)
  const to = text.indexOf(end, from)
  if (from < 0 || to < 0)
    throw new Error(`${file}: it has no marks for the results, such as\n${begin}\n${end}`)
  return { before: text.slice(0, from), after: text.slice(to + end.length) }
}
