import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readSearch, type Term } from '../../../src/domain/search/search-text.ts'
import type { Database } from '../../../src/storage/database.ts'
import type { NewFeedback } from '../../../src/storage/feedback/writes.ts'
import { countIndexedCalls, findCalls, indexCoverage } from '../../../src/storage/search/found-calls.ts'
import { boundTo } from '../../../src/storage/transaction.ts'
import { endPart, newProject, startedAt, startPart, wholePart } from '../../support/call-parts.ts'
import type { Driver } from '../../support/drivers.ts'

function noteOf(project: string, call: string, note: string): NewFeedback {
  const nothing = {
    ...{ creator: null, annotation_ref: null, runnable_ref: null },
    ...{ call_ref: null, trigger_ref: null, queue_id: null },
  }
  const record = {
    ...{ project_id: project, id: `${call}-note`, feedback_type: 'wandb.note.1', user_id: 'alice' },
    ...{ svc_ref: `weave:///${project}/call/${call}`, call_id: call, thread_id: null, created_at: startedAt },
    ...{ payload: JSON.stringify({ note }), ...nothing },
  }
  return { record, field: 'id' }
}

const signal = new AbortController().signal
const step = { limit: 4, characters: 1 << 20 }

async function indexed(db: Database): Promise<void> {
  while (await db.writeInBackground('indexCalls', step));
}

async function found(db: Database, project: string, text: string, more: object = {}): Promise<string[]> {
  const view = { project, filters: [], query: undefined, sort: [], limit: 100, offset: 0, ...more }
  const hits = await findCalls(boundTo(db, signal), view, readSearch(text), undefined, startedAt)
  return hits.map(({ id }) => id)
}

interface Paging {
  limit: number
  /** Of the newest entries, that are read first. */
  window?: number
  filters?: { call_ids: string[] }[]
}

/** All pages of this size, one after the other. */
async function inPages(db: Database, project: string, text: string, { limit, window, filters = [] }: Paging) {
  const view = { project, filters, query: undefined, sort: [], limit, offset: 0 }
  const ids: string[] = []
  for (let before: number | undefined; ; ) {
    const hits = await findCalls(boundTo(db, signal), view, readSearch(text), before, startedAt, window)
    ids.push(...hits.map(({ id }) => id))
    if (hits.length < limit) return ids
    before = hits.at(-1)?.doc
  }
}

const wordOf = (list: readonly string[], at: number) => list[at % list.length] as string

/** Whether the words contain the term, read one by one. */
const contains = (words: readonly string[], term: Term): boolean =>
  words.some((_, from) =>
    term.words.every((word, n) => {
      const found = words[from + n] ?? ''
      return term.isOpen && n === term.words.length - 1 ? found.startsWith(word) : found === word
    }),
  )

const asked = (question: string) => ({ inputs: JSON.stringify({ question }) })
const said = (answer: string) => ({ output: JSON.stringify({ answer }) })

export function search(open: Driver['open']): void {
  describe('search', () => {
    test('words are found anywhere, whole or by prefix, as a phrase, or excluded', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [
        wholePart(project, 'a', asked('Where is my Refund, please?'), said('It was sent')),
        wholePart(project, 'b', asked('refunds take how long'), said('Three days, naïve café')),
        wholePart(project, 'c', asked('ships get_weather 退款在哪里'), {
          ...said('no'),
          exception: 'TimeoutError: gave up',
        }),
        wholePart(project, 'd', { ...asked(`key ${'x'.repeat(500)}`), display_name: 'Nightly report' }),
      ])
      assert.equal(await indexCoverage(db, project), 'some')
      assert.deepEqual(await found(db, project, 'refund'), [])
      await indexed(db)
      assert.equal(await indexCoverage(db, project), 'all')
      assert.equal(await countIndexedCalls(boundTo(db, signal), project), 4)
      for (const [text, ids] of [
        ['refund', ['b', 'a']],
        ['"refund"', ['a']],
        ['REFUND sent', ['a']],
        ['refund -days', ['a']],
        ['"my refund please"', ['a']],
        ['"refund my"', []],
        ['naive CAFÉ', ['b']],
        ['退款', ['c']],
        ['"款在"', ['c']],
        ['在退', []],
        ['weather', ['c']],
        ['get_weather', ['c']],
        ['timeouterror', ['c']],
        ['nightly', ['d']],
        ['question', []],
        ['is', ['a']],
      ] as const) {
        assert.deepEqual(await found(db, project, text), ids, text)
      }
      assert.deepEqual(await found(db, newProject(), 'refund'), [])
      assert.deepEqual(await found(db, project, 'refund', { filters: [{ call_ids: ['b'] }] }), ['b'])
    })

    test('any text is a valid search, and none of it is executed as SQL', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [
        wholePart(project, 'a', asked(`it's "quoted" \\ :* & | ! <-> NEAR(x) null`)),
      ])
      await indexed(db)
      for (const text of [
        `it's`,
        'quoted"',
        'NEAR(x',
        'null AND OR NOT',
        "'':* & !(",
        'words:null',
        'project : x',
        '{a b}: c*',
        '^x',
        `${'a '.repeat(30)}`,
        '\u0000x',
        '🐟 null',
        'a'.repeat(900),
      ]) {
        if (readSearch(text).some(({ isExcluded }) => !isExcluded)) await found(db, project, text)
      }
      assert.deepEqual(await found(db, project, `IT'S`), ['a'])
      assert.deepEqual(await found(db, project, '"<-> near("'), ['a'])
    })

    test('words in few, half and all calls of several projects are found latest first, page by page', async (t) => {
      const db = await open(t)
      const projects = [newProject(), newProject(), newProject()]
      const texts = Array.from({ length: 90 }, (_, n) => {
        const words = [
          wordOf(['capital', 'capitals', 'capitalism', 'cap'], n * n + (n >> 2)),
          wordOf(['red', 'river', 'red river', 'river red', 'redder riverbed'], n * 7 + (n >> 3)),
          ...(n % 2 === 0 ? ['half'] : ['halves']),
          ...(n % 29 === 3 ? ['rarely'] : []),
        ]
        return ['answer', 'always', ...words.join(' ').split(' ')]
      })
      // Half of the calls are of the first project, and few of the last.
      const projectOf = (n: number) => wordOf(projects, n % 2 === 0 ? 0 : n % 9 === 0 ? 2 : 1)
      for (const [n, words] of texts.entries()) {
        const part = wholePart(projectOf(n), `call-${n}`, asked(words.slice(1).join(' ')))
        await db.write('upsertCalls', [part])
        if (n % 10 === 9) await indexed(db)
      }
      await db.write('deleteCalls', { project_id: wordOf(projects, 0), ids: ['call-40'], now: startedAt })
      const filters = [{ call_ids: ['call-2', 'call-3', 'call-22', 'call-80', 'call-81'] }]
      for (const text of [
        ...[
          'always',
          '"capital"',
          'capital',
          'cap',
          '"cap"',
          'rarely',
          'half',
          'hal',
          'capitalis',
          'nowhere',
        ],
        ...['"red river"', 'red riv', '"red" riv', 'always "river red"', 'capital red half', 'rarely half'],
        ...['always -capital', 'cap -capital', 'half -"red river"', 'capital -riv -rarely', 'red -nowhere'],
      ]) {
        const terms = readSearch(text)
        for (const [at, project] of projects.entries()) {
          const all = texts.flatMap((words, n) =>
            projectOf(n) === project &&
            n !== 40 &&
            terms.every((term) => contains(words, term) !== term.isExcluded)
              ? [`call-${n}`]
              : [],
          )
          const latest = all.reverse()
          const few = latest.filter((id) => filters[0]?.call_ids.includes(id))
          const pagings: Paging[] = [
            ...[{ limit: 1 }, { limit: 4 }, { limit: 100 }, { limit: 2, filters }],
            // Windows that fill a page by their last entry, or lack one, or are soon all.
            ...[1, 2, 3, 7].map((window) => ({ limit: 2, window })),
            ...[
              { limit: 3, window: 40 },
              { limit: 2, window: 20, filters },
            ],
          ]
          for (const paging of pagings) {
            const expected = paging.filters === undefined ? latest : few
            const which = `${text}, ${JSON.stringify(paging)}, ${at}`
            assert.deepEqual(await inPages(db, project, text, paging), expected, which)
          }
        }
      }
    })

    test('a prefix finds each call once, however many words begin with it', async (t) => {
      const db = await open(t)
      const project = newProject()
      const wordsFrom = (from: number, count: number) =>
        Array.from({ length: count }, (_, n) => `edge${String(from + n).padStart(3, '0')}`).join(' ')
      const ids = ['a', 'b', 'c', 'd']
      const parts = ids.map((id, n) => wholePart(project, id, asked(`sharp ${wordsFrom(n * 64, 64)}`)))
      await db.write('upsertCalls', parts)
      await db.write('upsertCalls', [wholePart(newProject(), 'other', asked(wordsFrom(0, 2)))])
      // Up to 256 words are read one by one, and more, here from the second round on, all at once.
      for (const more of ['e', 'f', 'g']) {
        await indexed(db)
        const latest = [...ids].reverse()
        for (const text of ['edge', 'sharp edge', '"sharp" edge', 'edge -edge9'])
          for (const size of [1, 3, 100])
            assert.deepEqual(
              await inPages(db, project, text, { limit: size }),
              latest,
              `${text}, ${size}, ${ids}`,
            )
        assert.deepEqual(await found(db, project, 'edge255'), ['d'])
        assert.deepEqual(
          await found(db, project, 'edge -edge0'),
          latest.filter((id) => id > 'b'),
        )
        const number = 255 + ids.length
        await db.write('upsertCalls', [wholePart(project, more, asked(`sharp edge${number}`))])
        ids.push(more)
      }
    })

    test('changed calls are found by their current words, and deleted ones are not found', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [startPart(project, 'a', asked('first'))])
      await indexed(db)
      await db.write('upsertCalls', [endPart(project, 'a', said('second'))])
      await db.write('addFeedback', [noteOf(project, 'a', 'third')])
      await indexed(db)
      for (const text of ['first', 'second', 'third'])
        assert.deepEqual(await found(db, project, text), ['a'], text)
      assert.equal(await countIndexedCalls(boundTo(db, signal), project), 1)
      await db.write('upsertCalls', [startPart(project, 'a', asked('fourth'))])
      await indexed(db)
      assert.deepEqual(await found(db, project, 'first'), [])
      assert.deepEqual(await found(db, project, 'fourth second'), ['a'])
      await db.write('removeFeedback', { project_id: project, ids: ['a-note'] })
      await indexed(db)
      assert.deepEqual(await found(db, project, 'third'), [])
      await db.write('deleteCalls', { project_id: project, ids: ['a'], now: startedAt })
      assert.deepEqual(await found(db, project, 'fourth'), [])
      const sweep = { now: startedAt, forgetBefore: 0, limit: 100, bytes: 1 << 20 }
      while ((await db.write('sweepCalls', sweep)) > 0);
      await indexed(db)
      assert.equal(await countIndexedCalls(boundTo(db, signal), project), 0)
    })

    test('a batch of calls larger than a step is indexed in steps, and projects take turns', async (t) => {
      const db = await open(t)
      const [one, other] = [newProject(), newProject()]
      const ids = Array.from({ length: 120 }, (_, n) => `call-${n}`)
      await db.write(
        'upsertCalls',
        ids.map((id) => wholePart(one, id, asked('much'))),
      )
      await db.write('upsertCalls', [wholePart(other, 'a', asked('little'))])
      for (let steps = 0; steps < 2; steps++) assert.equal(await db.write('indexCalls', step), true)
      assert.deepEqual(await found(db, other, 'little'), ['a'])
      const some = await countIndexedCalls(boundTo(db, signal), one)
      assert.ok(some > 0 && some < ids.length, `${some}`)
      await indexed(db)
      assert.equal((await found(db, one, 'much', { limit: 1_000 })).length, ids.length)
    })

    test('switching search off drops the index, and switching it on indexes everything again', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [wholePart(project, 'a', asked('word'))])
      await indexed(db)
      await db.write('switchSearch', { isOn: false })
      assert.equal(await indexCoverage(db, project), 'off')
      while (await db.writeInBackground('dropSearch', { limit: 1 }));
      await db.write('upsertCalls', [wholePart(project, 'b', asked('word'))])
      assert.deepEqual(await found(db, project, 'word'), [])
      await db.write('switchSearch', { isOn: true })
      assert.equal(await indexCoverage(db, project), 'some')
      await indexed(db)
      assert.deepEqual(await found(db, project, 'word'), ['b', 'a'])
    })

    test('a deleted project leaves nothing', async (t) => {
      const db = await open(t)
      const project = newProject()
      await db.write('upsertCalls', [wholePart(project, 'a', asked('word'))])
      await indexed(db)
      await db.write('upsertCalls', [wholePart(project, 'b', asked('word'))])
      await db.write('beginProjectDeletion', { project_id: project, now: startedAt })
      while (!(await db.write('deleteSomeOfProject', { project_id: project, now: startedAt }))?.isDone);
      assert.equal(await countIndexedCalls(boundTo(db, signal), project), 0)
      assert.equal(await indexCoverage(db, project), 'all')
    })
  })
}
