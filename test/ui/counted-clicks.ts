import assert from 'node:assert/strict'
import type { Locator, Page } from 'playwright-core'

/** A user whose presses are counted: of the mouse, and of keys that act as one. Typing into the field that has the focus is none. */
export interface CountedUser {
  click(on: Locator): Promise<void>
  press(key: string): Promise<void>
  type(text: string): Promise<void>
  /** The presses since the beginning, or since the last count. */
  count(): number
}

export function countedUser(page: Page): CountedUser {
  let presses = 0
  return {
    async click(on) {
      presses += 1
      await on.click()
    },
    async press(key) {
      presses += 1
      await page.keyboard.press(key)
    },
    async type(text) {
      await page.waitForFunction(() => document.activeElement?.matches('input, textarea'))
      await page.keyboard.type(text)
      assert.equal(await page.locator(':focus').inputValue(), text)
    },
    count() {
      const counted = presses
      presses = 0
      return counted
    },
  }
}
