// Writes the pages that are generated from the code. `--check` writes nothing and exits with 1 if a page is out of
// date.
import { readFileSync, writeFileSync } from 'node:fs'
import { modelsFileSchema } from '../src/inference/many/models-file.ts'
import { chatParametersPage } from './chat-parameters.ts'
import { clientsPage } from './clients/table.ts'
import { composeFile } from './compose-settings.ts'
import { messagesPage } from './messages-page.ts'
import { configurationPage, errorsPage } from './pages.ts'
import { playFieldsFile } from './play-fields.ts'
import { queriesPage } from './queries-page.ts'
import { responsesPage } from './responses-page.ts'
import { routeTable } from './route-table.ts'
import { structuredOutputPage } from './structured-output.ts'

const checking = process.argv.includes('--check')

function write(name: string, text: string): void {
  const file = new URL(`../${name}`, import.meta.url)
  if (!checking) {
    writeFileSync(file, text)
  } else if (readFileSync(file, 'utf8') !== text) {
    process.stderr.write(`${name} is not current: run \`npm run docs:generate\`.\n`)
    process.exitCode = 1
  }
}

// The app, which the page of roles builds, is declared from this table.
write('src/operations/generated/route-table.ts', await routeTable())
const { rolesPage } = await import('./roles-page.ts')

const pages = {
  'docker/compose.scale.yaml': composeFile('compose.scale.yaml'),
  'docker/compose.yaml': composeFile('compose.yaml'),
  'docs/chat-parameters.md': chatParametersPage(),
  'docs/clients.md': clientsPage(),
  'docs/configuration.md': configurationPage(),
  'docs/errors.md': errorsPage(),
  'docs/messages.md': messagesPage(),
  'docs/models.schema.json': modelsFileSchema(),
  'docs/queries.md': queriesPage(),
  'docs/responses.md': responsesPage(),
  'docs/roles.md': await rolesPage(),
  'docs/structured-output.md': structuredOutputPage(),
  'ui/screens/play/request-fields.ts': playFieldsFile(),
}
for (const [name, text] of Object.entries(pages)) write(name, text)
