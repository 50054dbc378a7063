import assert from 'node:assert/strict'
import { test } from 'node:test'
import { infillOf } from '../native/infill-tokens.ts'

/** A vocabulary of these names; every other text has a token for each character. */
const vocabularyOf =
  (...names: string[]) =>
  (text: string) => {
    const found = names.indexOf(text)
    return found === -1 ? Array.from(text, () => 0) : [100 + found]
  }

const metadataOf = (ids: Record<string, number>) => (key: string) =>
  ids[key.replace('tokenizer.ggml.', '')]?.toString()

test('the ids of a file are used, under their newer and their older names', () => {
  const ids = {
    fim_pre_token_id: 1,
    fim_suf_token_id: 2,
    fim_mid_token_id: 3,
    fim_pad_token_id: 4,
    eot_token_id: 5,
  }
  assert.deepEqual(infillOf(metadataOf(ids), vocabularyOf()), {
    prefix: 1,
    suffix: 2,
    middle: 3,
    ends: [4, 5],
  })
  const older = {
    prefix_token_id: 1,
    suffix_token_id: 2,
    middle_token_id: 3,
    fim_sep_token_id: 6,
    fim_rep_token_id: 7,
  }
  assert.deepEqual(infillOf(metadataOf(older), vocabularyOf()), {
    ...{ prefix: 1, suffix: 2, middle: 3, file: 6, project: 7, ends: [6, 7] },
  })
})

test('without ids, names of the vocabulary are, if all three are tokens', () => {
  const names = ['<|fim_prefix|>', '<|fim_suffix|>', '<|fim_middle|>', '<|endoftext|>']
  assert.deepEqual(infillOf(metadataOf({}), vocabularyOf(...names)), {
    ...{ prefix: 100, suffix: 101, middle: 102, ends: [103] },
  })
  assert.equal(infillOf(metadataOf({}), vocabularyOf(...names.slice(0, 2))), undefined)
  assert.equal(infillOf(metadataOf({ fim_pre_token_id: 1, fim_suf_token_id: 2 }), vocabularyOf()), undefined)
  assert.equal(
    infillOf(metadataOf({}), vocabularyOf('<fim-prefix>', '<fim-suffix>', '<fim-middle>', '<fim-pad>'))
      ?.middle,
    102,
  )
})
