// Writes the pages that are made of the code. `--check` writes nothing and ends with 1 when a page is not current.
import { readFileSync, writeFileSync } from 'node:fs'
import { chatParametersPage } from './chat-parameters.ts'
import { messagesPage } from './messages-page.ts'
import { configurationPage, errorsPage } from './pages.ts'
import { responsesPage } from './responses-page.ts'
import { structuredOutputPage } from './structured-output.ts'

const pages = {
  'chat-parameters.md': chatParametersPage(),
  'configuration.md': configurationPage(),
  'errors.md': errorsPage(),
  'messages.md': messagesPage(),
  'responses.md': responsesPage(),
  'structured-output.md': structuredOutputPage(),
}
const checking = process.argv.includes('--check')

for (const [name, text] of Object.entries(pages)) {
  const file = new URL(`../docs/${name}`, import.meta.url)
  if (!checking) {
    writeFileSync(file, text)
  } else if (readFileSync(file, 'utf8') !== text) {
    process.stderr.write(`docs/${name} is not current: run \`npm run docs:generate\`.\n`)
    process.exitCode = 1
  }
}
