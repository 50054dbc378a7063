import { useState } from 'preact/hooks'
import { storageIn } from '../browser-storage.ts'
import { currentUser } from '../server/session.ts'

const storage = storageIn(() => sessionStorage)

/** What is entered in a form outlasts a visit elsewhere and a reload of the tab, until it is sent or cancelled, for the same user. */
export function useKeptForm<T extends object>(form: string, first: (kept: Partial<T>) => T) {
  const name = `heddle.form ${form} ${currentUser.value?.user}`
  const [value, setValue] = useState(() => first(JSON.parse(storage?.getItem(name) ?? '{}') as Partial<T>))
  return {
    value,
    change(changes: Partial<T>): void {
      // Two changes may come before the form is drawn again.
      setValue((current) => {
        const next = { ...current, ...changes }
        try {
          storage?.setItem(name, JSON.stringify(next))
        } catch {
          // More than the browser can keep lasts as long as its screen.
          storage?.removeItem(name)
        }
        return next
      })
    },
    drop: () => storage?.removeItem(name),
  }
}
