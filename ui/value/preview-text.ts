/** Markdown on a line of a list: the words without the marks. What only looks like a mark stays, as the stars of `f(**names)`. */
export const previewText = (text: string): string =>
  text
    .replace(/!?\[([^\][]+)\]\(([a-z]+:|[/.#])[^()\s]*(\)|$)/g, '$1')
    .replace(/^#{1,6} |(?<=\s)#{2,6} |```\w*|\|(\s*:?-+:?\s*\|)+/g, '')
    .replace(/\*\*(?=\S)(.*?\S)\*\*/g, '$1')
    .replace(/`([^`]+)`/g, '$1')
    .replace(/- \[[ x]\] /gi, '- ')
    .trim()
