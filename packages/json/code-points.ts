/** Compares by code point, which is the order of UTF-8 bytes but not of JavaScript strings. */
export function compareText(left: string, right: string): number {
  let at = 0
  while (at < left.length && left.charCodeAt(at) === right.charCodeAt(at)) at++
  // If the second halves of surrogate pairs differ, compare the whole pairs.
  const start = at > 0 && /[\ud800-\udbff]/.test(left[at - 1] as string) ? at - 1 : at
  return pointAt(left, start) - pointAt(right, start) || pointAt(left, at) - pointAt(right, at)
}

function pointAt(text: string, at: number): number {
  return text.codePointAt(at) ?? -1
}
