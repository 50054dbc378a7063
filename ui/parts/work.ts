import { useState } from 'preact/hooks'

/** What a user asked for: whether it is being done, and why the last attempt failed. */
export function useWork() {
  const [isWorking, setWorking] = useState(false)
  const [failure, setFailure] = useState<Error>()
  const work = async (run: () => unknown): Promise<void> => {
    setWorking(true)
    setFailure(undefined)
    try {
      await run()
    } catch (error) {
      setFailure(error as Error)
    }
    setWorking(false)
  }
  return { isWorking, failure, work }
}

/** For `onSubmit` of a form: the page does what is asked, and the browser sends nothing. */
export const ownSubmit = (submit: () => unknown) => (event: Event) => {
  event.preventDefault()
  submit()
}
