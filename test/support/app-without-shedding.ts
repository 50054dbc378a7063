import { openApp, type TestApp } from './app.ts'
import { scriptedBackend } from './scripted-backend.ts'

/** An app with a model that sheds nothing, however slow a busy machine makes it: for requests that are heavy by intent. */
export function openAppWithoutShedding(
  t: { after(close: () => Promise<void>): void },
  { settings, ...parts }: NonNullable<Parameters<typeof openApp>[1]> = {},
): Promise<TestApp> {
  return openApp(t, {
    backend: scriptedBackend(),
    ...parts,
    settings: { HEDDLE_MAX_LOOP_DELAY: '0', ...settings },
  })
}
