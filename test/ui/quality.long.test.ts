import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { refuse } from '../../src/domain/refusals.ts'
import { noBrowser } from '../support/browser.ts'
import { completeOf, project } from '../support/calls.ts'
import { evaluationRunsOf } from '../support/evaluation-runs.ts'
import { giveFeedback } from '../support/feedback.ts'
import { monitorsOf } from '../support/monitors.ts'
import { chatCall, idOf, pageTests, writeCalls } from '../support/page-app.ts'
import { pricesOf } from '../support/prices.ts'
import { simulatedBackend } from '../support/simulated-backend.ts'
import { until } from '../support/wait.ts'
import { assertAccessible, goNarrow, narrow } from './accessible.ts'

const skip = noBrowser

// Judges of monitors answer beside every test, so each schema has its answer at all times.
const backend = simulatedBackend({ after }, ({ constraint }) => {
  if (constraint === undefined) return 'A city.'
  const reason = constraint.grammar.text.includes('reason') ? '"reason": "It says so.", ' : ''
  return `{${reason}"passed": true}`
})

const { served, open } = await pageTests(
  { after },
  {
    sweep: true,
    backend,
    async fill(page) {
      const batch = Array.from({ length: 5 }, (_, index) => chatCall(index, `Question ${index}?`, 'A city.'))
      await writeCalls(page, batch)
      const rows = Array.from({ length: 6 }, (_, n) => ({ id: n, question: `Capital ${n}?` }))
      const { status } = await page.post(`/v2/${project}/datasets`, { name: 'capitals', rows })
      assert.equal(status, 200)
      await monitorsOf(page).scorer('short', { check: { kind: 'length', max: 20 } })
      return {}
    },
  },
)

const ui = `/ui/${project}`

test('Quality: the four lists lead to each other, and old addresses go on working', { skip }, async (t) => {
  const { page, problems } = await open(t, `${ui}/calls`)
  await page.getByRole('navigation', { name: 'Project' }).getByRole('link', { name: 'Quality' }).click()
  await page.getByText('No evaluations yet').waitFor()
  const lists = page.getByRole('navigation', { name: 'Quality' })
  await lists.getByRole('link', { name: 'Judges' }).click()
  await page.getByRole('row').getByText('short').waitFor()
  await lists.getByRole('link', { name: 'Monitors' }).click()
  await page.getByText('No monitors yet').waitFor()
  await lists.getByRole('link', { name: 'Datasets' }).click()
  await page.getByRole('link', { name: 'New run on capitals' }).click()
  await page.getByText('6 rows × 1 setting × 1 = 6 answers').waitFor()
  await page.goto(`${served().address}${ui}/evals`)
  await page.getByRole('heading', { name: 'Runs' }).waitFor({ state: 'attached' })
  assert.deepEqual(problems, [])
})

test('a judge is written with a field of a real call, tried on three calls, and saved', {
  skip,
}, async (t) => {
  const svc_ref = `weave:///${project}/call/${idOf('chat', 4)}`
  const payload = { note: 'This is no city.' }
  await giveFeedback(served().post, { svc_ref, feedback_type: 'wandb.note.1', payload })
  const { page, problems } = await open(t, `${ui}/judges`)
  await page.getByRole('link', { name: 'New judge' }).click()
  await page.getByLabel('Name', { exact: true }).fill('correct')
  await page.getByLabel('Question to the model').fill('Is this a city? ')
  await page.getByRole('button', { name: 'output.choices.0.message.content' }).click()
  const prompt = await page.getByLabel('Question to the model').inputValue()
  assert.equal(prompt, 'Is this a city? {output.choices.0.message.content}')
  await page.getByRole('button', { name: 'Try on 3 calls' }).click()
  const said = page.getByRole('list', { name: 'What it says' })
  await said.getByRole('definition').getByText('yes', { exact: true }).first().waitFor()
  assert.ok(!(await said.textContent())?.includes('{'))
  assert.equal(await said.getByRole('listitem').count(), 3)
  // What people said of the call is beside what the judge says.
  await said.getByRole('listitem').first().getByText('This is no city. alice').waitFor()
  await page.getByLabel('Question to the model').fill('no field')
  await page.getByRole('button', { name: 'Save judge' }).click()
  await page.getByRole('alert').getByText('judge.prompt').waitFor()
  await page.getByLabel('Question to the model').fill(prompt)
  await page.getByLabel('Of its values').selectOption('lower')
  await page.getByRole('button', { name: 'Save judge' }).click()
  await page.getByRole('row').getByText('correct').waitFor()
  const scorer = (await served().get(`/v2/${project}/scorers`)).text
  assert.match(scorer, /Is this a city\? \{output\.choices\.0\.message\.content\}/)
  assert.match(scorer, /"direction":"lower"/)
  await page.getByRole('link', { name: 'New judge' }).click()
  await page.getByLabel('Name', { exact: true }).fill('Correct')
  await page.getByRole('status').getByText('correct exists: this becomes its newest version.').waitFor()
  assert.deepEqual(problems, [
    'Failed to load resource: the server responded with a status of 400 (Bad Request)',
  ])
})

test('every check of the server is a form, and what does not fit is said in words', { skip }, async (t) => {
  const forms = '/ui/acme/checks/judges/new'
  const { page, problems } = await open(t, forms)
  const field = { field: 'output.choices.0.message.content' }
  const kind = page.getByLabel('Kind')
  const isSaid = (text: string) => page.getByRole('status').getByText(text).waitFor()
  const made: [name: string, label: string, text: string, check: object][] = [
    ['regex', 'Pattern,', '^A', { pattern: '^A', ...field }],
    ['latency', 'At most this many milliseconds', '2.5', { max_ms: 2.5 }],
    ['tokens', 'At most this many tokens', '500', { max: 500 }],
    ['cost', 'At most this cost', '0.01', { max: 0.01 }],
    ['length', 'At most this many characters', '9', { min: 4, max: 9, ...field }],
    ['contains', 'None of these texts', 'sorry', { none_of: ['sorry'], ignore_case: true, ...field }],
    [
      'json_schema',
      'JSON Schema',
      '{"type":"object"}',
      { schema: { type: 'object' }, parse: true, ...field },
    ],
  ]
  await isSaid('Give it a name.')
  for (const [name, label, text, check] of made) {
    await page.goto(`${served().address}${forms}`)
    await page.getByLabel('Name', { exact: true }).fill(`check-${name}`)
    await kind.selectOption(name)
    await isSaid('Fill in “')
    assert.ok(await page.getByRole('button', { name: 'Save judge' }).isDisabled())
    if (name === 'length') {
      await page.getByLabel('At least').fill('x')
      await isSaid('takes a whole number.')
      await page.getByLabel('At least').fill('10')
      await page.getByLabel(label).fill(text)
      await isSaid('is more than')
      await page.getByLabel('At least').fill('4')
    }
    if (name === 'json_schema') {
      await page.getByLabel(label, { exact: true }).fill('[]')
      await isSaid('“JSON Schema” takes a JSON object')
    }
    if (name === 'regex') {
      await page.getByLabel(label).fill('(a+)+$')
      await page.getByRole('button', { name: 'Save judge' }).click()
      // The server names a field by its label here.
      await page
        .getByRole('alert')
        .getByText(/^“Pattern, a regular expression of JavaScript”: /)
        .waitFor()
    }
    await page.getByLabel(label).first().fill(text)
    await page.getByRole('button', { name: 'Save judge' }).click()
    await page.getByRole('row').getByText(`check-${name}`).waitFor()
    const stored = (
      await served().post('/obj/read', {
        ...{ project_id: 'acme/checks', object_id: `check-${name}`, digest: 'latest' },
      })
    ).json.obj.val.check
    assert.deepEqual(withoutNothing(stored), { kind: name, ...check })
  }
  // The list says in the same words what each of them wants.
  const asks = 'At least 4 characters, or entries of a list. At most 9 characters, or entries of a list'
  await page.getByRole('row', { name: 'check-length' }).getByText(asks).waitFor()
  const texts = 'None of these texts: ["sorry"]. Upper and lower case are the same'
  await page.getByRole('row', { name: 'check-contains' }).getByText(texts).waitFor()
  await page.goto(`${served().address}${forms}`)
  await kind.waitFor()
  const offered = await kind
    .locator('option')
    .evaluateAll((all) => all.map((one) => one.getAttribute('value')))
  assert.deepEqual(offered.slice(2).toSorted(), made.map(([name]) => name).toSorted())
  await kind.selectOption('contains')
  await assertAccessible(page)
  assert.deepEqual(problems, [
    'Failed to load resource: the server responded with a status of 400 (Bad Request)',
  ])
})

/** Fields that were left out may be stored as null or false. */
const withoutNothing = (value: object) =>
  Object.fromEntries(Object.entries(value).filter(([, member]) => member !== null && member !== false))

test('what is made in Quality begins in its first field', { skip }, async (t) => {
  const { page, problems } = await open(t, `${ui}/evals`)
  const lists = page.getByRole('navigation', { name: 'Quality' })
  const hasFocus = (label: string) =>
    page.getByLabel(label, { exact: true }).and(page.locator(':focus')).waitFor()
  await page.getByRole('link', { name: 'New run' }).click()
  await hasFocus('Dataset')
  await page.goBack()
  await lists.getByRole('link', { name: 'Judges' }).click()
  await page.getByRole('link', { name: 'New judge' }).click()
  await hasFocus('Name')
  await page.goBack()
  await lists.getByRole('link', { name: 'Monitors' }).click()
  await page.getByRole('button', { name: 'New monitor' }).click()
  await hasFocus('Name')
  await page.keyboard.press('Escape')
  await lists.getByRole('link', { name: 'Datasets' }).click()
  await page.getByRole('button', { name: 'From a file' }).click()
  await hasFocus('CSV, JSON Lines or a JSON list')
  assert.deepEqual(problems, [])
})

test('a run of two settings with a judge is started in the page, goes on without it, and is compared', {
  skip,
}, async (t) => {
  await monitorsOf(served()).scorer('judged', {
    judge: {
      prompt: '{output}',
      schema: { type: 'object', properties: { passed: { type: 'boolean' } }, required: ['passed'] },
    },
  })
  const first = await open(t, `${ui}/evals`)
  const { page, problems } = first
  await page.getByRole('link', { name: 'New run' }).click()
  await page.getByText('6 rows').waitFor()
  assert.equal(await page.getByLabel('Message to the model').inputValue(), '{question}')
  await page.getByLabel('System message A').fill('Be brief.')
  await page.getByRole('button', { name: 'Compare with other settings' }).click()
  await page.getByRole('group', { name: 'Settings B' }).getByLabel('Temperature', { exact: true }).fill('0.5')
  await page.getByRole('checkbox', { name: 'judged' }).check()
  await page.getByRole('checkbox', { name: 'short' }).check()
  await page.getByLabel('Times that each row is asked').fill('2')
  await page
    .getByText('6 rows × 2 settings × 2 = 24 answers, 48 scores, about 120 tokens of questions.')
    .waitFor()
  await page
    .getByText('The judge reads about 0 tokens more, the answers not counted, and writes at most 12,288.')
    .waitFor()
  const started = page.waitForResponse((response) => response.url().endsWith('/evaluation_runs/serve'))
  await page.getByRole('button', { name: 'Start run' }).click()
  const { evaluation_run_ids: ids } = (await (await started).json()) as { evaluation_run_ids: string[] }
  await page.close()
  assert.equal(ids.length, 2)
  await until('both runs have ended', async () => {
    const states = ids.map((id) => served().get(`/v2/${project}/evaluation_runs/${id}`))
    return (await Promise.all(states)).every(({ json }) => json.status === 'completed')
  })
  const again = await open(t, `${ui}/evals/new?runs=${ids.join()}`)
  await again.page.getByText('Settings A: success, 12 answers').waitFor()
  await again.page.getByRole('link', { name: 'Compare' }).click()
  await again.page.locator('option[value="scores.judged.passed"]').first().waitFor({ state: 'attached' })
  // A million rows of which none has two answers are not all read.
  let pages = 0
  await again.page.route('**/eval_results/query', async (route) => {
    const { include_raw_data_rows, limit, offset } = route.request().postDataJSON()
    if (include_raw_data_rows !== true || limit !== 200) return route.continue()
    pages++
    const rows = Array.from({ length: limit }, (_, n) => ({
      ...{ row_digest: `row ${offset + n}`, raw_data_row: {}, evaluations: [] },
    }))
    await route.fulfill({ json: { rows, total_rows: 1_000_000, warnings: [] } })
  })
  await again.page.getByRole('button', { name: 'Review as pairs' }).click()
  const none = again.page.getByRole('dialog', { name: 'Review as pairs' })
  await none.getByText('No row has an answer of both runs. Of the first 10,000 of 1,000,000 rows.').waitFor()
  assert.equal(pages, 50)
  await again.page.keyboard.press('Escape')
  await again.page.unroute('**/eval_results/query')
  await again.page.getByRole('button', { name: 'Review as pairs' }).click()
  const dialog = again.page.getByRole('dialog', { name: 'Add 6 pairs to a queue' })
  await dialog.getByLabel('Queue name').fill('which is better')
  await dialog.getByRole('option', { name: 'Create “which is better”' }).click()
  await dialog.getByText('6 added.').waitFor()
  await dialog.getByRole('link', { name: 'Open which is better' }).click()
  await again.page.waitForURL(/\/queues\//)
  const queue = /queues\/([^/?]+)/.exec(again.page.url())?.[1]
  const { items } = (await served().post(`/annotation_queues/${queue}/items/query`, { project_id: project }))
    .json
  const trials = { evaluation_call_ids: ids, include_predict_and_score_children: true }
  const { rows } = (await served().post(`/v2/${project}/eval_results/query`, trials)).json
  type Row = { evaluations: { evaluation_call_id: string; trials: { predict_call_id: string }[] }[] }
  const answersOf = ({ evaluations }: Row) =>
    ids.map(
      (id) =>
        evaluations.find(({ evaluation_call_id }) => evaluation_call_id === id)?.trials[0]?.predict_call_id,
    )
  const pairsOf = (pairs: unknown[][]) => pairs.map((pair) => pair.join(' ')).sort()
  assert.deepEqual(
    pairsOf(
      items.map((item: { call_id: string; other_call_id: string }) => [item.call_id, item.other_call_id]),
    ),
    pairsOf(rows.map(answersOf)),
  )
  await again.page.goto(`${served().address}${ui}/evals`)
  await again.page.getByRole('link', { name: 'capitals run: B' }).waitFor()
  assert.deepEqual([...problems, ...again.problems], [])
})

test('a run says how long its answers take at so many at the same time, from the latest calls of its model', {
  skip,
}, async (t) => {
  const rows = Array.from({ length: 12 }, (_, n) => ({ question: `Capital ${n}?` }))
  assert.equal((await served().post('/v2/acme/timed/datasets', { name: 'timed', rows })).status, 200)
  const { page, problems } = await open(t, '/ui/acme/timed/evals/new')
  await page.getByText('How long it takes is not known').waitFor()
  const usage = { played: { requests: 1, prompt_tokens: 2, completion_tokens: 3, total_tokens: 5 } }
  const [started_at, ended_at] = ['2026-01-01T00:00:00Z', '2026-01-01T00:00:02Z']
  const timed = { project_id: 'acme/timed', started_at, ended_at, summary: { usage } }
  await writeCalls(served(), [completeOf(timed)], 'acme/timed')
  await page.reload()
  await page.getByText('The answers take about 6.00 s, estimated from the latest calls of played.').waitFor()
  await page.getByLabel('Rows that are asked at the same time').fill('17')
  await page.getByText('One to 16 rows are asked at the same time.').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Start run' }).isDisabled())
  await page.getByLabel('Rows that are asked at the same time').fill('2')
  await page.getByText('The answers take about 12.0 s').waitFor()
  const started = page.waitForRequest((request) => request.url().endsWith('/evaluation_runs/serve'))
  await page.getByRole('button', { name: 'Start run' }).click()
  assert.equal((await started).postDataJSON().concurrency, 2)
  assert.deepEqual(problems, [])
})

test('a run that is being written gets its rows from a file', { skip }, async (t) => {
  const { page, problems } = await open(t, `${ui}/evals/new`)
  await page.getByLabel('Name', { exact: true }).fill('third try')
  assert.equal(await page.getByRole('link', { name: 'From calls' }).getAttribute('href'), `${ui}/calls`)
  await page.getByRole('button', { name: 'From a file' }).click()
  const file = { name: 'rivers.csv', mimeType: 'text/csv', buffer: Buffer.from('river\nNile\nVolga\n') }
  await page.getByLabel('CSV, JSON Lines or a JSON list').setInputFiles(file)
  await page.getByLabel('Column of river').fill('question')
  await page.getByRole('button', { name: 'Create with 2 rows' }).click()
  await page.getByRole('link', { name: 'New run' }).click()
  await page.getByText('2 rows × 1 setting × 1 = 2 answers').waitFor()
  assert.equal(await page.getByLabel('Dataset', { exact: true }).inputValue(), 'rivers')
  assert.equal(await page.getByLabel('Message to the model').inputValue(), '{question}')
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'third try')
  await page.getByRole('button', { name: 'Cancel' }).click()
  assert.deepEqual(problems, [])
})

test('a run asks the rows of one split', { skip }, async (t) => {
  const rows = ['train', 'test', 'test'].map((split, n) => ({ question: `Capital ${n}?`, split }))
  await served().post(`/v2/${project}/datasets`, { name: 'parted', rows })
  const { page, problems } = await open(t, `${ui}/evals/new?dataset=parted`)
  await page.getByText('3 rows').waitFor()
  await page.getByLabel('Rows', { exact: true }).selectOption('where split is')
  assert.equal(await page.getByLabel('Value of split').inputValue(), 'train')
  await assertAccessible(page)
  await page.getByLabel('Value of split').fill('dev')
  await page.getByRole('button', { name: 'Start run' }).click()
  await page.getByRole('alert').getByText('split.value: "dev"').waitFor()
  await page.getByLabel('Value of split').fill('test')
  const started = page.waitForResponse((response) => response.url().endsWith('/evaluation_runs/serve'))
  await page.getByRole('button', { name: 'Start run' }).click()
  assert.equal(((await (await started).json()) as { trials: number }).trials, 2)
  assert.deepEqual(
    problems.filter((problem) => !/400/.test(problem)),
    [],
  )
})

test('the answers of a finished run get another judge from the page, and both runs are compared', {
  skip,
}, async (t) => {
  const { post, get } = served()
  await monitorsOf(served()).scorer('late', {
    judge: {
      prompt: '{output}',
      schema: { type: 'object', properties: { passed: { type: 'boolean' } }, required: ['passed'] },
    },
  })
  const { json } = await post(`/v2/${project}/evaluation_runs/serve`, {
    ...{ name: 'old', dataset: `weave:///${project}/object/capitals:latest`, prompt: '{question}' },
    settings: [{ name: 'A' }],
  })
  const [source] = json.evaluation_run_ids as [string]
  await until('the run has ended', async () => {
    return (await get(`/v2/${project}/evaluation_runs/${source}`)).json.status === 'completed'
  })
  const { page, problems } = await open(t, `${ui}/evals/compare?ids=${source}`)
  await page.getByRole('link', { name: 'Rescore' }).click()
  await page.getByText('The model is not asked again.').waitFor()
  await page.getByRole('heading', { name: 'Rescore old: A' }).waitFor()
  assert.ok(await page.getByRole('button', { name: 'Rescore' }).isDisabled())
  await page.getByText('Tick a judge or a check.').waitFor()
  await page.getByRole('checkbox', { name: 'late' }).check()
  await assertAccessible(page)
  // A judge that is written meanwhile leads back, and is ticked beside the others.
  await page.getByRole('link', { name: 'New judge' }).click()
  await page.getByLabel('Name', { exact: true }).fill('few')
  await page.getByLabel('Kind').selectOption('tokens')
  await page.getByLabel('At most this many tokens').fill('100')
  await page.getByRole('button', { name: 'Save judge' }).click()
  for (const name of ['late', 'few']) assert.ok(await page.getByRole('checkbox', { name }).isChecked(), name)
  await page.getByRole('button', { name: 'Rescore' }).click()
  await page.locator('option[value="scores.late.passed"]').first().waitFor({ state: 'attached' })
  const runs = page.getByRole('list', { name: 'Runs' })
  await runs.getByText('old: A, rescored').waitFor()
  assert.match(new URL(page.url()).searchParams.get('ids') ?? '', new RegExp(`^${source},[^,]+$`))
  // A comparison has several runs to rescore, so it offers none.
  assert.equal(await page.getByRole('link', { name: 'Rescore' }).count(), 0)
  assert.deepEqual(problems, [])
})

test('a run is stopped from the page with what exists', { skip }, async (t) => {
  const { generate } = backend
  t.after(() => {
    backend.generate = generate
  })
  // However slow the page is, the run does not end before it is stopped: what is asked then waits for the next step.
  let allowed = 12
  backend.generate = async (...asked) => {
    await until('an answer is allowed', () => allowed > 0)
    allowed--
    return generate(...asked)
  }
  const { page, problems } = await open(t, `${ui}/evals/new?dataset=capitals`)
  await page.getByText('6 rows').waitFor()
  await page.getByLabel('Name', { exact: true }).fill('long one')
  await page.getByLabel('Times that each row is asked').fill('1000')
  await page.getByRole('button', { name: 'Start run' }).click()
  await page.getByText(/^Settings A: [1-9]/).waitFor()
  await page.getByRole('button', { name: 'Stop' }).click()
  allowed = 100
  await page.getByText('Settings A: stopped').waitFor()
  const [run = ''] = new URL(page.url()).searchParams.getAll('runs')
  await page.getByRole('link', { name: 'All runs' }).click()
  await page.getByRole('link', { name: 'long one: A' }).waitFor()
  // A reload finds it stopped, and has it go on.
  await page.goto(`${served().address}${ui}/evals/new?runs=${run}`)
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByText(/^Settings A: [1-9].* of 6,000 answers/).waitFor()
  // What still runs cannot be scored again.
  await page.goto(`${served().address}${ui}/evals/compare?ids=${run}`)
  await page.getByRole('link', { name: 'Still running' }).click()
  await page.getByRole('button', { name: 'Stop' }).click()
  allowed = 100
  await page.getByText('Settings A: stopped').waitFor()
  assert.deepEqual(problems, [])
})

test('rows at which the model failed are asked again from the page', { skip }, async (t) => {
  const { generate } = backend
  t.after(() => {
    backend.generate = generate
  })
  backend.generate = async () => {
    throw refuse('invalid_value', { field: 'x', received: 'y', accepted: 'z' })
  }
  const { json } = await served().post(`/v2/${project}/evaluation_runs/serve`, {
    ...{ name: 'bad', dataset: `weave:///${project}/object/capitals:latest`, prompt: '{question}' },
    settings: [{ name: 'A' }],
  })
  // Beside a run of another program, which goes on whatever the server does.
  const runs = [json.evaluation_run_ids[0], await evaluationRunsOf(served()).run()]
  const { page, problems } = await open(t, `${ui}/evals/new?runs=${runs.join()}`)
  await page.getByText('The model failed at 6 rows.').waitFor()
  await assertAccessible(page)
  backend.generate = generate
  assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0)
  await page.getByRole('button', { name: 'Resume' }).click()
  await page.getByRole('button', { name: /^Resum/ }).waitFor({ state: 'detached' })
  await page.getByText('Settings A: success').waitFor()
  await page.getByText('The model failed at').waitFor({ state: 'detached' })
  assert.deepEqual(problems, [])
})

test('judgements that failed are counted where the run has ended, and its judges are asked again', {
  skip,
}, async (t) => {
  const { generate } = backend
  t.after(() => {
    backend.generate = generate
  })
  const schema = { type: 'object', properties: { passed: { type: 'boolean' } }, required: ['passed'] }
  await monitorsOf(served()).scorer('shaky', { judge: { prompt: '{output}', schema } })
  backend.generate = async (...asked) => {
    if (asked[0].constraint) throw refuse('invalid_value', { field: 'x', received: 'y', accepted: 'z' })
    return generate(...asked)
  }
  const { page, problems } = await open(t, `${ui}/evals/new?dataset=capitals`)
  await page.getByText('6 rows').waitFor()
  await page.getByLabel('Name', { exact: true }).fill('unjudged')
  await page.getByRole('checkbox', { name: 'shaky' }).check()
  await page.getByRole('checkbox', { name: 'short' }).check()
  await page.getByRole('button', { name: 'Start run' }).click()
  await page.getByText('6 judgements failed.').waitFor()
  await assertAccessible(page)
  backend.generate = generate
  await page.getByRole('button', { name: 'Rescore' }).click()
  await page.getByRole('list', { name: 'Runs' }).getByText('unjudged: A, rescored').waitFor()
  // Both scorers of the run scored its answers again.
  for (const field of ['shaky.passed', 'short.passed'])
    await page.locator(`option[value="scores.${field}"]`).first().waitFor({ state: 'attached' })
  assert.deepEqual(problems, [])
})

test('the progress of a run of another program names its model, and offers nothing that only the server can do', {
  skip,
}, async (t) => {
  const run = await evaluationRunsOf(served()).run()
  const { page, problems } = await open(t, `${ui}/evals/new?runs=${run}`)
  await page.getByText('small:v0: no answers yet').waitFor()
  const renamed = { project_id: project, call_id: run, display_name: 'first try' }
  assert.equal((await served().post('/call/update', renamed)).status, 200)
  await page.reload()
  await page.getByText('first try (small:v0): no answers yet').waitFor()
  assert.equal(await page.getByRole('button', { name: 'Stop' }).count(), 0)
  assert.equal(await page.getByText('continues without this tab').count(), 0)
  assert.deepEqual(problems, [])
})

test('a run that is being written outlasts the making of its judge, and a reload', { skip }, async (t) => {
  const { page, problems } = await open(t, `${ui}/evals/new?dataset=capitals`)
  await page.getByLabel('Name', { exact: true }).fill('second try')
  await page.getByLabel('Message to the model').fill('Answer: {question}')
  await page.getByRole('button', { name: 'Compare with other settings' }).click()
  await page.getByLabel('System message B').fill('Be brief.')
  await page.getByRole('checkbox', { name: 'short' }).check()
  const isWhole = async () => {
    assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), 'second try')
    assert.equal(await page.getByLabel('Message to the model').inputValue(), 'Answer: {question}')
    assert.equal(await page.getByLabel('System message B').inputValue(), 'Be brief.')
    assert.ok(await page.getByRole('checkbox', { name: 'short' }).isChecked())
  }
  await page.getByRole('link', { name: 'New judge' }).click()
  await page.getByLabel('Name', { exact: true }).fill('quick')
  await page.getByLabel('Kind').selectOption('latency')
  await page.getByLabel('At most this many milliseconds').fill('100')
  await page.reload()
  assert.equal(await page.getByLabel('At most this many milliseconds').inputValue(), '100')
  await page.getByRole('button', { name: 'Save judge' }).click()
  await page.getByRole('checkbox', { name: 'quick' }).waitFor()
  assert.ok(await page.getByRole('checkbox', { name: 'quick' }).isChecked())
  await isWhole()
  await page.reload()
  await page.getByRole('checkbox', { name: 'quick' }).waitFor()
  await isWhole()
  await page.getByRole('button', { name: 'Cancel' }).click()
  await page.getByRole('link', { name: 'New run' }).click()
  await page.getByRole('checkbox', { name: 'quick' }).waitFor()
  assert.equal(await page.getByLabel('Name', { exact: true }).inputValue(), '')
  assert.deepEqual(problems, [])
})

test('a monitor of a score where lower is better shows the highest first, when older calls are judged', {
  skip,
}, async (t) => {
  const { scorer, monitor, calls } = monitorsOf(served())
  const long = await scorer('long', { check: { kind: 'length', min: 20 }, direction: 'lower' })
  await calls({ op_name: 'old', output: 'y' }, { op_name: 'old', output: 'x'.repeat(30) })
  const id = await monitor([long], { filter: { op_names: ['old'] } })
  const { page, problems } = await open(t, `${ui}/monitors/${id}`)
  // Twice in a row is once.
  await page.getByRole('button', { name: 'Judge 100 older calls' }).dblclick()
  await page.getByText('2 judged').waitFor()
  const scores = page.getByRole('region', { name: 'Highest of long passed' }).getByRole('row')
  assert.match((await scores.nth(1).textContent()) ?? '', /passedyes/)
  // A call is known by what it was asked.
  await scores.nth(1).getByRole('link', { name: 'capital of Chad' }).waitFor()
  assert.deepEqual(problems, [])
})

test('a monitor is made in the page; its page shows the mean, the lowest first, and pauses', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, `${ui}/judges`)
  await page.getByRole('link', { name: 'Monitor with short' }).click()
  await page.getByRole('checkbox', { name: 'short' }).waitFor()
  assert.equal(await page.getByRole('checkbox', { name: 'short' }).isChecked(), true)
  await page.getByLabel('Calls, by the filter of the list of calls').fill('op:long')
  // What the button waits for is said.
  await page.getByRole('checkbox', { name: 'short' }).uncheck()
  await page.getByText('Tick a judge or a check.').waitFor()
  await page.getByRole('checkbox', { name: 'short' }).check()
  await page.getByLabel('Share of them, in percent').fill('120')
  await page.getByText('The share is a number from 0 to 100.').waitFor()
  assert.ok(await page.getByRole('button', { name: 'Start monitor' }).isDisabled())
  await page.getByLabel('Share of them, in percent').fill('100')
  await page.getByRole('button', { name: 'Start monitor' }).click()
  await page.getByRole('button', { name: 'Pause' }).waitFor()
  await page.getByRole('heading', { name: 'Nothing judged yet' }).waitFor()
  const calls = await page.getByRole('link', { name: 'op:long' }).getAttribute('href')
  assert.equal(calls, `${ui}/calls?q=op%3Along&all=1`)
  await monitorsOf(served()).calls(
    { op_name: 'long', output: 'x'.repeat(30) },
    { op_name: 'long', output: 'y' },
  )
  await until('both are judged', async () => {
    await page.reload()
    await page.getByRole('button', { name: 'Pause' }).waitFor()
    return (await page.getByText('2 judged').count()) === 1
  })
  await page.getByRole('heading', { name: 'short passed: yes in 50.0 % of 2' }).waitFor()
  await page.getByRole('img', { name: 'Mean of short passed by day' }).waitFor()
  await page.getByText(/^\d+ \w+ to \d+ \w+, UTC; from 0 % to 100 %$/).waitFor()
  const scores = page.getByRole('region', { name: 'Lowest of short passed' }).getByRole('row')
  assert.match((await scores.nth(1).textContent()) ?? '', /passedno/)
  await page.goto(`${served().address}${ui}/monitors`)
  await page.getByRole('cell', { name: '50.0 % yes' }).first().waitFor()
  await page.goBack()
  await page.getByRole('button', { name: 'Pause' }).click()
  await page.getByRole('button', { name: 'Resume' }).waitFor()
  await page.getByRole('button', { name: 'Delete' }).click()
  await page.getByRole('button', { name: 'Delete monitor' }).click()
  await page.getByRole('heading', { name: 'Monitors', exact: true }).waitFor({ state: 'attached' })
  assert.deepEqual(problems, [])
})

test('a monitor says what its judges have used and cost, and leads to their calls', { skip }, async (t) => {
  const { scorer, monitor, calls, scores, judgeCalls } = monitorsOf(served())
  const [reason, passed] = [{ type: 'string' }, { type: 'boolean' }]
  const schema = { type: 'object', properties: { reason, passed }, required: ['reason', 'passed'] }
  const judge = await scorer('city', { judge: { prompt: 'Is {output} a city?', schema } })
  const id = await monitor([judge], { filter: { op_names: ['named'] } })
  const named = await calls({ op_name: 'named', output: 'Oslo' }, { op_name: 'named', output: 'Lima' })
  for (const call of named) await scores(call, 1)
  const own = (await judgeCalls()).filter(({ attributes }) => attributes.heddle.judge.monitor === id)
  const [[model, used]] = Object.entries(own[0].summary.usage) as [[string, { total_tokens: number }]]
  const { page, problems } = await open(t, `${ui}/monitors/${id}`)
  const spent = page.getByRole('main').getByText(/^In 14 days 2 calls of its judges: \d+ → \d+ tokens, cost/)
  assert.match((await spent.textContent()) ?? '', /cost –$/)
  const price = { [model]: { prompt_token_cost: 1, completion_token_cost: 1 } }
  assert.equal((await served().post('/cost/create', pricesOf(price))).status, 200)
  await page.reload()
  const sum = own.reduce((tokens, { summary }) => tokens + summary.usage[model].total_tokens, 0)
  assert.ok(used.total_tokens > 0)
  await page.getByText(`tokens, cost $${sum}`).waitFor()
  await page.getByRole('link', { name: '2 calls of its judges' }).click()
  await page.getByText('2 calls', { exact: true }).waitFor()
  assert.deepEqual(problems, [])
})

test('why a monitor waits has the formats of the page, and at 360 px a reason is read in full', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, `${ui}/monitors`, narrow)
  const id = await monitorsOf(served()).monitor([`weave:///${project}/object/short:latest`], { name: 'late' })
  const detail = `the limit of 3000 tokens ${'is used up '.repeat(12)}until 2026-01-02T00:00:00Z`
  await page.route('**/monitors/stats', async (route) => {
    const answer = await route.fetch()
    const { stats } = await answer.json()
    const reason = { scorer: 'short', state: 'failed', reason: 'budget', count: 1, detail }
    await route.fulfill({ json: { stats: [{ ...stats[0], waits: detail, reasons: [reason] }] } })
  })
  await page.goto(`${served().address}${ui}/monitors/${id}`)
  await page.getByText('the limit of 3,000 tokens').first().waitFor()
  const main = page.getByRole('main')
  assert.doesNotMatch((await main.textContent()) ?? '', /2026-01-02T/)
  const why = main.getByRole('cell', { name: 'the limit of 3,000 tokens' })
  assert.ok(await why.evaluate(({ scrollWidth, clientWidth }) => scrollWidth <= clientWidth))
  assert.ok(await why.evaluate((cell) => getComputedStyle(cell).whiteSpace !== 'nowrap'))
  assert.deepEqual(problems, [])
})

test('the page of a monitor shows as JSON what the filter bar cannot express', { skip }, async (t) => {
  const short = `weave:///${project}/object/short:latest`
  const query = { $expr: { $in: [{ $getField: 'op_name' }, [{ $literal: 'a' }]] } }
  const { monitor } = monitorsOf(served())
  const [all, some, odd] = [
    await monitor([short], { name: 'every' }),
    await monitor([short], { name: 'some', filter: { op_names: ['a', 'b:*'] }, statuses: ['error'] }),
    await monitor([short], { name: 'odd', query }),
  ]
  const { page, problems } = await open(t, `${ui}/monitors/${all}`)
  await page.getByText('short on 100 % of all calls.').waitFor()
  await page.goto(`${served().address}${ui}/monitors/${some}`)
  await page.getByRole('link', { name: '(op:=a OR op:=b:*) status:error' }).waitFor()
  await page.goto(`${served().address}${ui}/monitors/${odd}`)
  await page.getByText(JSON.stringify({ query })).waitFor()
  assert.deepEqual(problems, [])
})

test('of many judges one is found by its name, in the list and in the forms', { skip }, async (t) => {
  for (let n = 0; n < 12; n++) {
    const judge = { name: `judge_${n}`, check: { kind: 'length', max: 20 } }
    assert.equal((await served().post('/v2/acme/many/scorers', judge)).status, 200)
  }
  const rows = [{ question: '?' }]
  assert.equal((await served().post('/v2/acme/many/datasets', { name: 'rows', rows })).status, 200)
  const { page, problems } = await open(t, '/ui/acme/many/judges')
  const unwanted = page.getByRole('cell', { name: 'judge_2', exact: true })
  await unwanted.waitFor()
  await page.getByRole('searchbox', { name: 'Filter by name' }).fill('GE_1')
  await unwanted.waitFor({ state: 'detached' })
  // Judges of one millisecond are in the order of their names, and not the newest first.
  const found = await page.locator('td .strong').allTextContents()
  assert.deepEqual(found.sort(), ['judge_1', 'judge_10', 'judge_11'])
  await page.getByRole('searchbox', { name: 'Filter by name' }).fill('nobody')
  await page.getByText('No judge has this in its name').waitFor()
  for (const form of ['monitors?new=judge_3', 'evals/new']) {
    await page.goto(`${served().address}/ui/acme/many/${form}`)
    await page.getByRole('checkbox', { name: 'judge_3' }).check()
    const wanted = page.getByRole('searchbox', { name: 'Filter by name' })
    await wanted.fill('_7')
    // It is in a form, which Enter does not send.
    await wanted.press('Enter')
    await page.getByRole('checkbox', { name: 'judge_2' }).waitFor({ state: 'detached' })
    const choices = page.getByRole('group', { name: 'Judges and checks' })
    assert.deepEqual(await choices.getByRole('checkbox').count(), 2)
    assert.ok(await choices.getByRole('checkbox', { name: 'judge_3' }).isChecked())
    assert.match(page.url(), /monitors\?new|evals\/new$/)
  }
  assert.deepEqual(problems, [])
})

test('at 360 px a long name of a dataset widens neither a form nor a dialog', { skip }, async (t) => {
  const name = `capitals-${'of-every-country-'.repeat(6)}`
  const { status, text } = await served().post('/v2/acme/wide/datasets', {
    ...{ name, rows: [{ question: '?', [`column-${'y'.repeat(120)}`]: '' }] },
  })
  assert.equal(status, 200, text)
  await writeCalls(served(), [{ ...chatCall(9, 'Q?', 'A.'), project_id: 'acme/wide' }], 'acme/wide')
  const { page, problems } = await open(t, '/ui/acme/wide/evals/new', narrow)
  const excess = (selector: string) =>
    page.locator(selector).evaluate(({ scrollWidth, clientWidth }) => scrollWidth - clientWidth)
  await page.getByText('1 row ×').waitFor()
  assert.equal(await excess('main'), 0)
  await page.goto(`${served().address}/ui/acme/wide/call/${idOf('chat', 9)}`)
  await page.getByRole('button', { name: 'To dataset' }).click()
  await page.getByRole('dialog').getByRole('option', { name }).waitFor({ state: 'attached' })
  assert.equal(await excess('dialog[open]'), 0)
  assert.deepEqual(problems, [])
})

test('an empty project leads from a run to a dataset, and from a monitor to a judge and back', {
  skip,
}, async (t) => {
  const { page, problems } = await open(t, '/ui/acme/empty/judges?q=zzz')
  for (const [path, title] of [
    ['judges?q=zzz', 'No judges yet'],
    ['prompts?q=zzz', 'No prompts yet'],
    ['alerts/deliveries', 'Nothing has happened yet'],
  ] as const) {
    await page.goto(`${served().address}/ui/acme/empty/${path}`)
    await page.getByRole('heading', { name: title }).waitFor()
    assert.equal(await page.getByLabel('Filter by name').count(), 0, path)
    assert.notEqual(await page.locator('.state p').textContent(), '', path)
  }
  await page.goto(`${served().address}/ui/acme/empty/evals/new`)
  await page.getByRole('heading', { name: 'No datasets yet' }).waitFor()
  assert.equal(await page.getByRole('button', { name: 'Start run' }).count(), 0)
  await page.getByRole('link', { name: 'Make a dataset' }).click()
  await page.getByRole('button', { name: 'From a file' }).waitFor()
  await page.goto(`${served().address}/ui/acme/empty/monitors?new=-`)
  const dialog = page.getByRole('dialog', { name: 'New monitor' })
  await dialog.getByText('None yet.').waitFor()
  await dialog.getByRole('link', { name: 'New judge' }).click()
  await page.getByLabel('Name', { exact: true }).fill('quick one')
  await page.getByLabel('Kind').selectOption('latency')
  await page.getByLabel('At most this many milliseconds').fill('100')
  await page.getByRole('button', { name: /^Save/ }).click()
  await dialog.getByRole('checkbox', { name: 'quick_one' }).waitFor()
  assert.ok(await dialog.getByRole('checkbox', { name: 'quick_one' }).isChecked())
  assert.deepEqual(problems, [])
})

test('names in a right-to-left script have their direction in lists and titles', { skip }, async (t) => {
  const name = 'בדיקה: 3 (a)'
  const watch = await monitorsOf(served()).monitor([`weave:///${project}/object/short:latest`], { name })
  await writeCalls(served(), [{ ...chatCall(30, 'Q?', 'A.'), op_name: name }])
  const { page, problems } = await open(t, `${ui}/monitors`)
  const directionOf = (selector: string) =>
    page
      .locator(selector, { hasText: 'בדיקה' })
      .first()
      .evaluate((element) => getComputedStyle(element).direction)
  assert.equal(await directionOf('td a'), 'rtl')
  for (const [path, selector] of [
    [`monitors/${watch}`, 'h1'],
    ['calls', '.call-name'],
    [`call/${idOf('chat', 30)}`, '.detail h2'],
    [`trace/${idOf('trace', 30)}`, '.tree-name'],
  ] as const) {
    await page.goto(`${served().address}${ui}/${path}`)
    assert.equal(await directionOf(selector), 'rtl', path)
  }
  assert.deepEqual(problems, [])
})

test('at 360 px the lists of Quality show every column of a row', { skip }, async (t) => {
  await monitorsOf(served()).monitor([`weave:///${project}/object/short:latest`], { name: 'a watch' })
  const { page, problems } = await open(t, `${ui}/monitors`, narrow)
  for (const [path, row, columns] of [
    ['monitors', 'a watch', ['Judges', 'Judged', 'Waiting']],
    ['judges', 'short', ['Kind', 'Monitors', 'Created']],
    ['datasets', 'capitals', ['Version', 'Created', 'Run']],
    ['evals', 'old: A', ['State', 'Trials', 'Cost', 'Started']],
  ] as const) {
    await page.goto(`${served().address}${ui}/${path}`)
    const cells = page.getByRole('row', { name: row }).first()
    await cells.waitFor()
    for (const column of columns) {
      const box = await cells.locator(`[data-label=${column}]`).boundingBox()
      assert.ok(box !== null && box.x + box.width <= 360, `${path}: ${column}`)
    }
  }
  assert.deepEqual(problems, [])
})

test('the screens of Quality are accessible', { skip }, async (t) => {
  const { page, problems } = await open(t, '/ui/me', narrow)
  for (const [path, ready] of [
    ['evals', 'New run'],
    ['judges', 'New judge'],
    ['datasets', 'capitals'],
    ['monitors', 'New monitor'],
    ['evals/new?dataset=capitals', '6 rows'],
    ['judges/new', 'Fields of the newest'],
    ['monitors?new=short', 'Start monitor'],
  ] as const) {
    await goNarrow(page, `${served().address}${ui}/${path}`)
    await page.getByText(ready).first().waitFor()
    await assertAccessible(page)
    assert.deepEqual(problems, [])
  }
})

test('a run that goes on misses no scores yet, and its state leads to its progress', { skip }, async (t) => {
  const { run, predict, score, finishPrediction } = evaluationRunsOf(served())
  const going = await run()
  const scored = await predict(going)
  await score(going, scored, 'judge', { passed: true })
  for (const prediction of [scored, await predict(going, { inputs: { question: 'capital of Mali' } })])
    assert.equal((await finishPrediction(prediction)).status, 200)
  // Other runs of this file have other scores more often.
  const { page, problems } = await open(t, `${ui}/evals?scores=scores.judge.passed`)
  const row = page.locator(`tr:has([data-label=State] a[href*="${going}"])`)
  await row.getByText('100 %').waitFor()
  assert.equal(await row.getByText('missing').count(), 0)
  await row.getByRole('link', { name: 'running' }).click()
  await page.getByRole('heading', { name: 'Running' }).waitFor()
  assert.deepEqual(problems, [])
})

test('an evaluation that failed before its first trial is listed, and its screen says why', {
  skip,
}, async (t) => {
  const failed = completeOf({
    ...{ op_name: 'Evaluation.evaluate', display_name: 'without a model' },
    ...{ output: null, exception: 'the model is gone' },
  })
  const batch = [failed]
  assert.equal((await served().post(`/v2/${project}/calls/complete`, { batch })).status, 200)
  const { page, problems } = await open(t, `${ui}/evals`)
  const row = page.getByRole('row', { name: 'without a model' })
  await row.getByText('error').waitFor()
  await row.getByRole('link', { name: 'without a model' }).click()
  await page.getByText('failed: the model is gone').waitFor()
  await page.goto(`${served().address}${ui}/evals/compare?ids=${failed.id}`)
  await page.getByRole('link', { name: 'State of the runs' }).click()
  await page.getByText('failed: the model is gone').waitFor()
  assert.deepEqual(problems, [])
})
