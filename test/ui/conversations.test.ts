import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { type Convention, conventions } from '../fixtures/conventions.ts'
import { noBrowser } from '../support/browser.ts'
import { attributesOf, exportOf, spanOf } from '../support/otlp.ts'
import { pageTests } from '../support/page-app.ts'
import { assertAccessible } from './accessible.ts'

/** Spans as instrumentations send them, read from the screen. */

const skip = noBrowser

const shown = conventions
  .map((convention, index) => ({ ...convention, id: `b${String(index).padStart(15, '0')}` }))
  .filter(({ of, name }) =>
    [
      'OpenTelemetry, messages in attributes',
      'OpenTelemetry, tool spans',
      'OpenTelemetry, an event for each message (2024)',
      'OpenInference, model spans',
      'OpenInference, retrievers',
      'Vercel AI SDK 4 to 6, steps',
      'OpenLLMetry, numbered attributes',
      'Langfuse, observations',
      'Pydantic AI, agent spans',
      'Google ADK, model spans',
    ].includes(`${of}, ${name}`),
  )

const spanIn = ({ id, attributes, events = [] }: Convention & { id: string }, index: number) =>
  spanOf(attributes, {
    spanId: id,
    traceId: `${id}${id}`,
    name: `span ${index}`,
    events: events.map((event) => ({ name: event.name, attributes: attributesOf(event.attributes) })),
  })

const { open } = await pageTests(
  { after },
  {
    fill: async ({ post }) => {
      const { status, text } = await post('/otel/v1/traces', exportOf(shown.map(spanIn)))
      assert.deepEqual([status, text], [200, '{}'])
    },
  },
)

const wordsIn = (line: string): string[] => line.toLowerCase().match(/[\w.?/]+/g) ?? []

test('the list shows question and answer as text', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/acme/qa/calls')
  for (const [index, { previews }] of shown.entries()) {
    const row = page.locator('[role=row]', { has: page.getByText(`span ${index}`, { exact: true }) })
    assert.ok(
      (await row.textContent())?.includes(previews.join(' → ')),
      `${index}: ${await row.textContent()}`,
    )
  }
  assert.deepEqual(problems, [])
})

test('a conversation has every message on its side, whoever recorded it', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/acme/qa/calls')
  for (const { id, of, name, asked, answered } of shown) {
    await page.goto(new URL(`/ui/acme/qa/call/${id}`, page.url()).href)
    await page.getByRole('tab', { name: 'Conversation', selected: true }).waitFor()
    const found = await page.locator('.chat > .said').evaluateAll((messages) =>
      messages.map((message) => ({
        side: message.classList.contains('is-answer') ? 'answer' : 'question',
        role: (message as HTMLElement).dataset.role,
        text: message.textContent.toLowerCase(),
      })),
    )
    const expected = [
      ...asked.map((line) => ({ line, side: 'question' })),
      ...answered.map((line) => ({ line, side: 'answer' })),
    ]
    const whose = `${of}, ${name}`
    assert.deepEqual(
      found.map(({ side, role }) => [side, role]),
      expected.map(({ line, side }) => [side, line.split(':')[0]]),
      whose,
    )
    for (const [index, { line }] of expected.entries()) {
      const missing = wordsIn(line).filter((word) => !found[index]?.text.includes(word))
      assert.deepEqual(missing, [], `${whose}: ${found[index]?.text}`)
    }
    assert.equal(await page.locator('.thought[open]').count(), 0)
    if (id === shown[0]?.id) await assertAccessible(page)
  }
  assert.deepEqual(problems, [])
})
