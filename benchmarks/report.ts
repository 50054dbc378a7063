import { existsSync, readFileSync, writeFileSync } from 'node:fs'

const begin = '<!-- results: written by `npm run record -- --markdown`, all that stands here is replaced -->'
const end = '<!-- end of results -->'

/** What is printed while it is measured, and is Markdown as it stands. */
export class Report {
  readonly #paragraphs: string[] = []

  say(paragraph: string): void {
    console.log(`${paragraph}\n`)
    this.#paragraphs.push(paragraph)
  }

  /** Puts it between the marks of the file, or makes a file with nothing else. */
  write(file: string): void {
    const around = existsSync(file) ? marked(file) : { before: '', after: '\n' }
    const text = [begin, ...this.#paragraphs, end].join('\n\n')
    writeFileSync(file, `${around.before}${text}${around.after}`)
  }
}

/** A run that takes minutes should not find at its end that there is nowhere to write. */
export function refuseWithoutPlace(file: string): void {
  if (existsSync(file)) marked(file)
}

/** What stands before and after the results. */
function marked(file: string): { before: string; after: string } {
  const text = readFileSync(file, 'utf8')
  const from = text.indexOf(begin)
  const to = text.indexOf(end)
  if (from < 0 || to < from)
    throw new Error(`${file}: there is no place for results, which are marks like\n${begin}\n${end}`)
  return { before: text.slice(0, from), after: text.slice(to + end.length) }
}
