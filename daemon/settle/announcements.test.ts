import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { TestTimers } from '../../lib/rounds/testing.ts';
import { Announcements, type ReachablePort } from './announcements.ts';

function portOf(...addresses: readonly string[]): ReachablePort {
  return {
    name: 'cr-blue-external',
    isHere: true,
    mac: '0a:00:00:00:00:01',
    addresses: addresses.map((address) => ({ address, isRouter: false })),
    localnet: 'localnet.external',
    vlan: undefined,
    outPort: 3,
  };
}

/** What was sent when, and ports that moved, after a start without ports. */
function bed(before: readonly ReachablePort[] = []) {
  const timers = new TestTimers();
  const state: { ports: readonly ReachablePort[] | undefined; isStarting: boolean } = {
    ports: before,
    isStarting: false,
  };
  const sent: string[] = [];
  const moved: string[] = [];
  const announcements = new Announcements({
    timers,
    ports: () => state.ports,
    isStarting: () => state.isStarting,
    send: (_, addresses) => sent.push(`${timers.nowMs()}: ${addresses.map(({ address }) => address).join(' ')}`),
    onMoved: ({ name }) => moved.push(name),
  });
  announcements.look();
  const set = (...ports: readonly ReachablePort[]): void => {
    state.ports = ports;
    announcements.look();
  };
  return { timers, state, sent, moved, announcements, set };
}

describe('announcements', () => {
  it('begin when a port comes, and end after about a second', () => {
    const { timers, sent, moved, announcements, set } = bed();
    set(portOf('203.0.113.100', '203.0.113.101'));
    announcements.look();
    timers.pass(60_000);
    const both = '203.0.113.100 203.0.113.101';
    assert.deepEqual(sent, [`0: ${both}`, `100: ${both}`, `300: ${both}`, `1000: ${both}`]);
    assert.deepEqual(moved, ['cr-blue-external']);
  });

  it('begin a second later while the node may not know others, unless the port has gone by then', () => {
    const { timers, state, sent, set } = bed();
    state.isStarting = true;
    set(portOf('a'));
    timers.pass(500);
    set();
    timers.pass(500);
    assert.deepEqual(sent, []);
    set(portOf('a'));
    state.isStarting = false;
    timers.pass(500);
    set(portOf('a', 'b'));
    timers.pass(60_000);
    assert.deepEqual(sent, ['2000: a b', '2100: a b', '2300: a b', '3000: a b']);
  });

  it('end when the port goes, and begin again when it is back', () => {
    const { timers, state, sent, moved, set } = bed();
    set(portOf('a'));
    timers.pass(50);
    // The change is seen by the timer first.
    state.ports = [];
    timers.pass(100);
    assert.deepEqual(sent, ['0: a']);
    set();
    set(portOf('a'));
    timers.pass(150);
    assert.deepEqual(sent, ['0: a', '150: a', '250: a']);
    set();
    timers.pass(60_000);
    assert.equal(sent.length, 3);
    assert.equal(moved.length, 2);
  });

  it('are not repeated while it is not known whether the port is here, or once it may no longer be', () => {
    const { timers, state, sent, announcements, set } = bed();
    set(portOf('a'));
    state.ports = undefined;
    announcements.look();
    timers.pass(200);
    set(portOf('a'));
    timers.pass(60_000);
    assert.deepEqual(sent, ['0: a']);
  });

  it('are not repeated by a process that stood still', () => {
    const { timers, sent, set } = bed();
    const after = timers.after;
    // All timers fire late.
    Object.assign(timers, { after: (ms: number, callback: () => void) => after(ms + 500, callback) });
    set(portOf('a'));
    timers.pass(60_000);
    assert.deepEqual(sent, ['0: a']);
  });

  it('are one at the start of the process', () => {
    const { timers, sent, moved } = bed([portOf('a')]);
    timers.pass(60_000);
    assert.deepEqual(sent, ['0: a']);
    assert.deepEqual(moved, []);
  });

  it('are those of new addresses, with a new MAC address or another tag as well, as long as they are there', () => {
    const { timers, sent, moved, set } = bed([portOf('a')]);
    set(portOf('a', 'b', 'c'));
    timers.pass(50);
    set(portOf('a', 'b'));
    timers.pass(60_000);
    assert.deepEqual(sent.splice(0), ['0: a', '0: b c', '100: b', '300: b', '1000: b']);
    set({ ...portOf('a', 'b'), vlan: 7 });
    assert.deepEqual(sent, ['60050: a b']);
    assert.deepEqual(moved, []);
  });

  it('end when they are closed', () => {
    const { timers, sent, announcements, set } = bed();
    set(portOf('a'));
    announcements.close();
    timers.pass(60_000);
    assert.deepEqual(sent, ['0: a']);
  });
});
