import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { paths, routeOf } from '../../../ui/routes.ts'

test('every path that the page creates leads back to the same screen', () => {
  const name = fc
    .string({ minLength: 1, unit: 'binary' })
    .filter((text) => text.isWellFormed() && !/^\.{1,2}$/.test(text))
  fc.assert(
    fc.property(name, name, name, (entity, project, id) => {
      const whole = `${entity.replaceAll('/', '_')}/${project.replaceAll('/', '_')}`
      const pathOf = (text: string) => text.split('?', 1)[0] as string
      assert.deepEqual(routeOf(pathOf(paths.calls(whole))), { screen: 'calls', project: whole })
      assert.deepEqual(routeOf(pathOf(paths.trace(whole, id, 'c'))), {
        screen: 'trace',
        project: whole,
        trace: id,
      })
      assert.deepEqual(routeOf(pathOf(paths.call(whole, id))), { screen: 'call', project: whole, call: id })
      const queue = { project: whole, queue: id }
      assert.deepEqual(routeOf(paths.queue(whole, id)), { screen: 'queue', ...queue })
      assert.deepEqual(routeOf(pathOf(paths.review(whole, id, 'i'))), { screen: 'review', ...queue })
      const object = { screen: 'object', project: whole, object: id }
      assert.deepEqual(routeOf(pathOf(paths.object(whole, id, 'v1'))), object)
      assert.deepEqual(routeOf(paths.monitor(whole, id)), { screen: 'monitor', project: whole, monitor: id })
      const calibration = { screen: 'calibration', project: whole, judge: id }
      assert.deepEqual(routeOf(paths.calibration(whole, id)), calibration)
      assert.deepEqual(routeOf(paths.prompts(whole, id)), { screen: 'prompts', project: whole, prompt: id })
      assert.deepEqual(routeOf(paths.prompts(whole)), { screen: 'prompts', project: whole })
      assert.deepEqual(routeOf(paths.agents(whole)), { screen: 'agents', project: whole })
      assert.deepEqual(routeOf(pathOf(paths.agent(whole, id, '7d'))), { screen: 'agent', project: whole })
    }),
  )
})

test('the links that Weave clients print lead to screens', () => {
  const call = { screen: 'call', project: 'acme/qa', call: '0193' }
  for (const path of ['/acme/qa/r/call/0193', '/acme/qa/weave/calls/0193', '/ui/acme/qa/call/0193']) {
    assert.deepEqual(routeOf(path), call)
  }
  for (const path of ['/acme/qa/weave', '/acme/qa/weave/traces', '/ui/acme/qa']) {
    assert.deepEqual(routeOf(path), { screen: 'calls', project: 'acme/qa' })
  }
  for (const path of ['/', '/ui', '/ui/']) assert.deepEqual(routeOf(path), { screen: 'projects' })
})

test('an unknown path is reported as unknown', () => {
  for (const path of ['/ui/a/b/c/d/e', '/ui/%/b', '/x/y/z']) assert.equal(routeOf(path).screen, 'nowhere')
})
