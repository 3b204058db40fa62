import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import type { GatewayProbe } from '../../lib/api/kinds/interconnect-gateway.ts';
import { KubeApiError, KubeUnreachable } from '../../lib/kube/errors.ts';
import type { RawObject } from '../../lib/kube/types.ts';
import { ObjectWriter } from '../../lib/kube/writer.ts';
import type { InterconnectGateway, LocalTunnel } from '../model/interconnect.ts';
import { parseGateway } from '../watch/gateway.ts';
import { GatewayStatusWriter, type LocalView } from './gateway.ts';

const peers = [{ chassis: 'b1', cluster: 'west', address: '172.30.2.11' }];

/** An API server with one InterconnectGateway; the test decides when it answers. */
class Server {
  status: Record<string, unknown> = { peers, chassis: 'a1' };
  uid = 'u1';
  version = 1;
  readonly bodies: { metadata: { uid: string }; status: Record<string, unknown> }[] = [];
  /** Error of the next request. */
  error: Error | undefined;
  #release: (() => void)[] = [];
  isHolding = false;

  async request(_method: string, path: string, body?: unknown): Promise<RawObject> {
    assert.equal(path, '/apis/isthmus.network/v1alpha1/interconnectgateways/n1/status');
    const patch = body as Server['bodies'][number];
    this.bodies.push(patch);
    if (this.isHolding) await new Promise<void>((resolve) => this.#release.push(resolve));
    const error = this.error;
    this.error = undefined;
    if (error !== undefined) throw error;
    if (patch.metadata.uid !== this.uid) throw new KubeApiError(409, 'Conflict', 'another uid');
    this.status = { ...this.status, ...patch.status };
    this.version++;
    return this.raw();
  }

  raw(): RawObject {
    return { metadata: { name: 'n1', uid: this.uid, resourceVersion: String(this.version) }, status: this.status };
  }

  get observed(): InterconnectGateway {
    return parseGateway(JSON.parse(JSON.stringify(this.raw())) as RawObject);
  }

  release(): void {
    this.isHolding = false;
    for (const resolve of this.#release.splice(0)) resolve();
  }

  /** The statuses that were sent, each as `tunnel state`. */
  get sent(): readonly string[] {
    return this.bodies.map(({ status }) => {
      const { tunnels = [] } = status as { tunnels?: { state: string }[] };
      return tunnels.map(({ state }) => state).join();
    });
  }
}

function view(state: string, flaps = 1): LocalView {
  const bfd = { state, flap_count: String(flaps) };
  const { chassis, address } = peers[0] ?? assert.fail();
  const tunnel: LocalTunnel = { name: 'ovn-b1-0', chassis, address, isBfdWanted: true, bfd, isStale: false };
  return { tunnels: [tunnel], isSwitchDown: false, isDatabaseAway: false, silentPrograms: [] };
}

function open(server: Server): { status: GatewayStatusWriter; writer: ObjectWriter; clock: { ms: number } } {
  const clock = { ms: Date.parse('2026-01-01T00:00:00Z') };
  const writer = new ObjectWriter({ timing: { baseMs: 1, maxMs: 2 } });
  const client = { request: (method: string, path: string, body?: unknown) => server.request(method, path, body) };
  return { status: new GatewayStatusWriter({ client, writer, now: () => new Date(clock.ms) }), writer, clock };
}

const none = new Map<string, GatewayProbe>();

test('a change is sent in the same turn with the tunnels alone; unchanged fields are not sent', async () => {
  const server = new Server();
  const { status, writer } = open(server);
  status.publish(server.observed, view('up'), none);
  assert.deepEqual(server.sent, ['up'], 'before anything was awaited');
  await writer.idle();
  assert.deepEqual(Object.keys(server.bodies[0]?.status ?? {}), ['tunnels', 'checkedAt']);
  assert.equal(server.status['chassis'], 'a1');
  status.publish(server.observed, view('up', 9), none);
  await writer.idle();
  assert.deepEqual(server.sent, ['up'], 'flaps alone');
  status.publish(server.observed, view('down', 9), none);
  await writer.idle();
  assert.deepEqual(server.sent, ['up', 'down']);
});

test('a status that the watch has not reported yet is not sent again', async () => {
  const server = new Server();
  const { status, writer } = open(server);
  const old = server.observed;
  status.publish(old, view('up'), none);
  await writer.idle();
  status.publish(old, view('up'), none);
  await writer.idle();
  assert.deepEqual(server.sent, ['up']);
  status.publish(old, view('down'), none);
  await writer.idle();
  assert.deepEqual(server.sent, ['up', 'down']);
});

test('one request at a time: states that pass meanwhile are not sent, the newest is, and nothing where it is the old', async () => {
  const server = new Server();
  const { status, writer } = open(server);
  server.isHolding = true;
  const old = server.observed;
  for (const state of ['up', 'init', 'admin_down', 'down']) status.publish(old, view(state), none);
  assert.deepEqual(server.sent, ['up']);
  server.release();
  await writer.idle();
  assert.deepEqual(server.sent, ['up', 'down']);
  server.isHolding = true;
  for (const state of ['up', 'down', 'up']) status.publish(server.observed, view(state), none);
  server.release();
  await writer.idle();
  assert.deepEqual(server.sent, ['up', 'down', 'up']);
});

test('a restart writes nothing but its check where nothing differs, and keeps the time of a state', async () => {
  const server = new Server();
  const first = open(server);
  first.status.publish(server.observed, view('up'), none);
  await first.writer.idle();
  const again = open(server);
  again.clock.ms += 60_000;
  again.status.publish(server.observed, view('up', 5), none);
  await again.writer.idle();
  assert.deepEqual(
    server.bodies.slice(1).map(({ status }) => status),
    [{ checkedAt: '2026-01-01T00:01:00.000Z' }],
  );
  assert.equal(again.status.current.tunnels[0]?.since, '2026-01-01T00:00:00.000Z');
});

test('an API server that does not answer gets the newest when it does', async () => {
  const server = new Server();
  const { status, writer } = open(server);
  server.error = new KubeUnreachable('gone');
  status.publish(server.observed, view('up'), none);
  status.publish(server.observed, view('down'), none);
  await writer.idle();
  assert.deepEqual(server.sent, ['up', 'down']);
  assert.equal(server.observed.tunnels[0]?.state, 'down');
});

test('a recreated object does not get the status of its predecessor, but a complete one', async () => {
  const server = new Server();
  const { status, writer } = open(server);
  const old = server.observed;
  server.uid = 'u2';
  status.publish(old, view('up'), none);
  await writer.idle();
  assert.equal(server.status['tunnels'], undefined);
  status.publish(server.observed, view('up'), none);
  await writer.idle();
  assert.equal(server.observed.tunnels[0]?.state, 'up');
  status.publish(undefined, view('down'), none);
  await writer.idle();
  assert.deepEqual([status.current.tunnels, server.bodies.length], [[], 2]);
});

test('without peers nothing is written; a peer that goes takes its tunnel and its probe along', async () => {
  const server = new Server();
  server.status = {};
  const { status, writer } = open(server);
  status.publish(server.observed, view('up'), none);
  assert.equal(server.bodies.length, 0);
  server.status = { peers };
  const { chassis, address } = peers[0] ?? assert.fail();
  const probe = { chassis, address, lossPercent: 0, at: '2026-01-01T00:00:00.000Z' };
  status.publish(server.observed, view('up'), new Map([['b1', probe]]));
  await writer.idle();
  assert.deepEqual(server.observed.probes, [probe]);
  server.status = { ...server.status, peers: [] };
  server.version++;
  status.publish(server.observed, view('up'), none);
  await writer.idle();
  assert.deepEqual([server.observed.tunnels, server.observed.probes], [[], []]);
});

test('programs of the node that do not answer are reported at once, and so is their return', async () => {
  const server = new Server();
  server.status = { peers };
  const { status, writer } = open(server);
  status.publish(server.observed, { ...view('up'), silentPrograms: ['ovn-controller'] }, none);
  await writer.idle();
  assert.deepEqual(server.observed.silentPrograms, ['ovn-controller']);
  status.publish(server.observed, view('up'), none);
  await writer.idle();
  assert.deepEqual(server.bodies.at(-1)?.status, { silentPrograms: [] });
});

describe('gateways of the own cluster', () => {
  const siblings = [{ chassis: 'a2', address: '172.30.1.12' }];
  const cutOff = siblings.map((sibling) => ({ ...sibling, cutOff: true }));
  function bothViews(state: string): LocalView {
    const { chassis, address } = siblings[0] ?? assert.fail();
    const { tunnels, ...rest } = view('up');
    const own = { name: 'ovn-a2-0', chassis, address, isBfdWanted: true, bfd: { state }, isStale: false };
    return { ...rest, tunnels: [...tunnels, own] };
  }

  it('are reported in a field of their own, separate from gateways of other clusters', async () => {
    const server = new Server();
    server.status = { peers, siblings };
    const { status, writer } = open(server);
    status.publish(server.observed, bothViews('up'), none);
    await writer.idle();
    status.publish(server.observed, bothViews('down'), none);
    await writer.idle();
    assert.deepEqual(Object.keys(server.bodies[1]?.status ?? {}), ['siblingTunnels']);
    const states = (tunnels: readonly { chassis: string; state: string }[]): readonly string[] =>
      tunnels.map(({ chassis, state }) => `${chassis} ${state}`);
    assert.deepEqual(states(server.observed.tunnels), ['b1 up']);
    assert.deepEqual(states(server.observed.siblingTunnels), ['a2 down']);
    assert.deepEqual(states(status.current.tunnels), ['b1 up'], 'figures count the others only');
  });

  it('are reported every second while one is cut off, else every third', async () => {
    const server = new Server();
    server.status = { peers, siblings: cutOff };
    const { status, writer, clock } = open(server);
    const tellAfter = async (ms: number): Promise<unknown> => {
      const before = server.bodies.length;
      clock.ms += ms;
      status.publish(server.observed, bothViews('down'), none);
      await writer.idle();
      return server.bodies.length === before ? 'nothing' : server.bodies.at(-1)?.status;
    };
    await tellAfter(0);
    assert.equal(await tellAfter(500), 'nothing');
    assert.deepEqual(await tellAfter(500), { checkedAt: '2026-01-01T00:00:01.000Z' });
    server.status = { ...server.status, siblings };
    server.version++;
    assert.equal(await tellAfter(1000), 'nothing');
    assert.deepEqual(await tellAfter(2000), { checkedAt: '2026-01-01T00:00:04.000Z' });
    server.status = { ...server.status, siblings: cutOff };
    server.version++;
    clock.ms -= 120_000;
    assert.deepEqual(
      await tellAfter(0),
      { checkedAt: '2025-12-31T23:58:04.000Z' },
      'no daemon counts as silent after a clock was set back',
    );
  });
});
