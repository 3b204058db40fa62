import assert from 'node:assert/strict';
import { test } from 'node:test';
import { reportOf, resultOf } from './report.ts';

const intervalMs = 20;
/** One letter a packet: `.` answered after 3 ms, `x` lost, ` ` never sent because the sender was late. */
const packets = (text: string) =>
  text
    .split('')
    .flatMap((letter, at) =>
      letter === ' ' ? [] : [{ sentMs: at * intervalMs, answeredMs: letter === 'x' ? undefined : at * intervalMs + 3 }],
    );

test('a flow without loss has a gap of one interval, also where the sender was late', () => {
  assert.deepEqual(resultOf(packets('.....'), intervalMs), {
    sent: 5,
    lost: 0,
    gapMs: 20,
    slowestMs: 3,
    lostMs: [],
  });
  assert.equal(resultOf(packets('..      ..'), intervalMs).gapMs, 20);
});

test('a gap is the time between the answered packets around lost ones', () => {
  assert.deepEqual(resultOf(packets('..xxx..x..'), intervalMs), {
    sent: 10,
    lost: 4,
    gapMs: 80,
    slowestMs: 3,
    lostMs: [40, 60, 80, 140],
  });
});

test('a flow that never came back has its gap to the end', () => {
  assert.equal(resultOf(packets('..xxxx'), intervalMs).gapMs, 100);
  assert.equal(resultOf(packets('xxx'), intervalMs).gapMs, 60);
});

test('a report has the spread over all flows and counts connections that ended', () => {
  const udp = Array.from({ length: 100 }, (_, at) => ({
    sent: 10,
    lost: 1,
    gapMs: at + 1,
    slowestMs: at,
    lostMs: [at < 50 ? at : 1000 + at],
  }));
  const tcp = [
    { gapMs: 21, isReset: false },
    { gapMs: 900, isReset: true },
  ];
  const report = reportOf(intervalMs, udp, tcp, { stallMs: 1.4, originMs: 1_000_000 });
  assert.deepEqual(report.udp.gapMs, { p50: 50, p99: 99, max: 100 });
  assert.deepEqual(report.udp.bursts, [
    { fromMs: 1_000_000, toMs: 1_000_049, packets: 50 },
    { fromMs: 1_001_050, toMs: 1_001_099, packets: 50 },
  ]);
  assert.deepEqual([report.udp.sent, report.udp.lost, report.udp.slowestMs, report.stallMs], [1000, 100, 99, 1]);
  assert.deepEqual([report.tcp.flows, report.tcp.resets, report.tcp.gapMs.max], [2, 1, 900]);
});
