/** What a completion took. Whatever was not read again, because an earlier request had the same beginning, is in `cached_tokens`. */
export function usageOf(promptTokens: number, completionTokens: number, cachedTokens: number) {
  return {
    prompt_tokens: promptTokens,
    completion_tokens: completionTokens,
    total_tokens: promptTokens + completionTokens,
    prompt_tokens_details: { cached_tokens: cachedTokens },
  }
}
