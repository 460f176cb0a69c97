import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { contrast, DARK, faded, LIGHT } from '../src/canvas/palette'
import { Ruler } from '../src/canvas/text'
import { cut, shorten, visible } from '../src/model/names'
import { count, duration, percent, size } from '../src/model/units'
import { fromHash, START, toHash, type State } from '../src/shell/state'
import { NONE } from '../src/model/select'

declare const SOURCES: string

test('a frame shows its class and method, generated code its stage and operator', () => {
  const names: [string, string][] = [
    ['org.apache.spark.executor.Executor$TaskRunner.run', 'Executor$TaskRunner.run'],
    ['org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage3.hashAgg_doAggregateWithKeys_0$', 'codegen#3 hashAgg_doAggregateWithKeys'],
    ['org.apache.spark.sql.catalyst.expressions.GeneratedClass$GeneratedIteratorForCodegenStage12.processNext', 'codegen#12 processNext'],
    ['org.apache.spark.sql.catalyst.expressions.GeneratedClass$SpecificUnsafeProjection.apply', 'codegen SpecificUnsafeProjection.apply'],
    ['org.apache.spark.util.Utils$.tryWithSafeFinally', 'Utils.tryWithSafeFinally'],
    ['org.apache.spark.executor.Executor$TaskRunner.$anonfun$run$5', 'Executor$TaskRunner.λrun'],
    ['org.apache.spark.rdd.RDD.$anonfun$mapPartitionsInternal$2$adapted', 'RDD.λmapPartitionsInternal'],
    ['scala.collection.Iterator$$anon$10.hasNext', 'Iterator$λ.hasNext'],
    ['com.acme.Job.lambda$execute$0', 'Job.λexecute'],
    ['java.util.ArrayList.<init>', 'ArrayList.<init>'],
    ['Main.main', 'Main.main'],
    ['[GC]', '[GC]'],
    ['', ''],
    ['</script>.x', '</script>.x'],
  ]
  for (const [full, shown] of names) assert.equal(shorten(full), shown)
})

test('what is invisible or turns text round is shown as its escape', () => {
  assert.equal(visible('a\u202eb'), 'a\\u202eb')
  assert.equal(visible('zero\u200bwidth\ufeff'), 'zero\\u200bwidth\\ufeff')
  assert.equal(visible('line\nbreak\u2028\0'), 'line\\u000abreak\\u2028\\u0000')
  assert.equal(visible('half\ud800'), 'half\\ud800')
  assert.equal(visible('tag\u{e0041}'), 'tag\\u{e0041}')
  assert.equal(visible('fire 🔥 שלום'), 'fire 🔥 שלום')
})

test('a long name is cut between characters and tells its length', () => {
  assert.equal(cut('abc', 3), 'abc')
  assert.equal(cut('x'.repeat(10_000), 4), 'xxxx… (10,000 characters)')
  assert.equal(cut('ab🔥cd', 3), 'ab… (6 characters)')
})

test('values are shown in seconds, milliseconds and powers of 1024', () => {
  assert.deepEqual([0, 850, 1000, 99_940, 123_456, 1_000_000, 9_040_000, 103_030_000, 4_423_000_000].map(duration), [
    '0 s', '0.850 ms', '1.0 ms', '99.9 ms', '123 ms', '1.00 s', '9.04 s', '103.0 s', '4,423 s',
  ])
  assert.deepEqual([0, 1023, 1024, 209_715_200, 2_050_000_000].map(size), ['0 B', '1,023 B', '1.00 KiB', '200 MiB', '1.91 GiB'])
  assert.deepEqual([0, 89_720, 1_234_567, 5e9].map(count), ['0', '89,720', '1.23 M', '5.00 G'])
})

test('a percent is 100 only of the whole and 0 only of nothing', () => {
  assert.deepEqual([percent(0, 10), percent(10, 10), percent(9_999, 10_000), percent(1, 100_000), percent(1, 200), percent(1, 3), percent(1, 0)], [
    '0 %', '100 %', '99.9 %', '< 0.01 %', '0.50 %', '33.3 %', '0 %',
  ])
})

test('a label keeps the method, then the beginning of its class', () => {
  const ruler = new Ruler(character => (character === '…' ? 10 : 6))
  assert.equal(ruler.fit('Reader.readBatch', 96), 'Reader.readBatch')
  assert.equal(ruler.fit('VectorizedColumnReader.readBatch', 120), 'Vectorize…readBatch')
  assert.equal(ruler.fit('VectorizedColumnReader.readBatch', 60), 'readBatch')
  assert.equal(ruler.fit('VectorizedColumnReader.readBatch', 40), 'readB…')
  assert.equal(ruler.fit('VectorizedColumnReader.readBatch', 20), '')
  assert.equal(ruler.fit('A.'.concat('m'.repeat(10_000)), 100).length, 16)
})

test('text on every fill has a contrast of 4.5 or more, in both themes', () => {
  for (const palette of [LIGHT, DARK]) {
    for (const fill of [...palette.layers, ...palette.states, palette.root]) {
      assert.ok(contrast(fill, palette.text) >= 4.5, `${fill} ${contrast(fill, palette.text)}`)
      assert.ok(contrast(faded(fill, palette), palette.text) >= 4.5, `faded ${fill}`)
    }
    for (const fill of [palette.dimmed, faded(palette.dimmed, palette), palette.rest]) assert.ok(contrast(fill, palette.dimmedText) >= 4.5, `${fill} ${contrast(fill, palette.dimmedText)}`)
    assert.ok(contrast(palette.hit, palette.hitText) >= 4.5)
    assert.ok(contrast(palette.hit, palette.background) >= 3)
  }
})

test('text of the page around the graph has a contrast of 4.5 or more, in both themes', () => {
  const css = readFileSync(join(SOURCES, 'shell', 'style.css'), 'utf8')
  const blocks = [...css.matchAll(/\.app(?:\[data-theme="dark"\])? \{([^}]*--background[^}]*)\}/g)].map(block => new Map([...block[1].matchAll(/--([\w-]+): (#[0-9a-f]{6});/g)].map(entry => [entry[1], entry[2]])))
  assert.equal(blocks.length, 2)
  for (const colours of blocks) {
    for (const text of ['text', 'muted', 'accent', 'alarm', 'hit']) {
      for (const ground of ['background', 'surface', 'raised']) {
        assert.ok(contrast(colours.get(text) as string, colours.get(ground) as string) >= 4.5, `${text} on ${ground}`)
      }
    }
    assert.ok(contrast(colours.get('accent') as string, colours.get('accent-surface') as string) >= 4.5)
  }
})

test('a link brings back every part of a view', () => {
  const state: State = {
    measure: 'latency',
    view: 'sandwich',
    labels: new Map([
      ['stage', new Set(['4', NONE])],
      ['user_team', new Set(['a&b=c #1'])],
    ]),
    statesOff: new Set(['WAITING']),
    search: '/a|b/',
    zoom: { flame: ['a;b', 'c\nd'], hot: ['x'], callers: ['y', 'y'], callees: ['z'] },
    method: '</script>',
    folded: false,
    dimmed: new Set([3]),
    hidden: new Set([5, 7]),
    order: 'cpu',
  }
  assert.deepEqual(fromHash(`#${toHash(state)}`), state)
})

test('the plain view needs no hash, and a strange one opens what it can', () => {
  assert.equal(toHash(START), '')
  assert.deepEqual(fromHash(''), START)
  assert.deepEqual(fromHash('#view=poster&measure=gold&dim=99&off=SLEEPY&order=up&search=x'), { ...START, search: 'x' })
})

test('nothing in the sources turns text into markup', () => {
  const files = readdirSync(SOURCES, { recursive: true }).map(String).filter(name => /\.tsx?$/.test(name))
  assert.ok(files.length > 20)
  for (const file of files) assert.doesNotMatch(readFileSync(join(SOURCES, file), 'utf8'), /innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function/, file)
})
