import assert from 'node:assert/strict';
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { AttrStream, wg } from '../../lib/netlink/wireguard.ts';
import { beginRotation, endRotation, noteAnnounced, openKeys } from './wireguard-key.ts';
import { deviceOf, endpointText, seenDevice, socketAddress } from './wireguard-netlink.ts';
import { changeUapi, formatChange, parseDevice, readUapi } from './wireguard-uapi.ts';

function folder(t: TestContext): string {
  const path = mkdtempSync(join(tmpdir(), 'wg-'));
  t.after(() => rmSync(path, { recursive: true }));
  return path;
}

const [privateHex, publicHex] = ['11'.repeat(32), '22'.repeat(32)];
const [privateKey, publicKey] = [privateHex, publicHex].map((hex) => Buffer.from(hex, 'hex').toString('base64')) as [
  string,
  string,
];
const change = {
  privateKey,
  listenPort: 51_820,
  peers: [
    { publicKey, endpoint: '192.0.2.1:51820', keepaliveSeconds: 25, allowedIps: ['100.126.0.3/32'] },
    { publicKey: privateKey, isRemoved: true },
  ],
} as const;

describe('the private key', () => {
  it('is made once, in a file that only root reads', (t) => {
    const file = join(folder(t), 'state', 'wireguard.key');
    const first = openKeys(file, '');
    assert.equal(statSync(file).mode & 0o777, 0o600);
    assert.equal(readFileSync(file, 'utf8').trim(), first.current.privateKey);
    assert.deepEqual(openKeys(file, ''), first);
  });
  it('has the public key of RFC 7748, section 6.1', (t) => {
    const file = join(folder(t), 'key');
    const bob = '5dab087e624a8a4b79e17f8b83800ee66f3bb1292618b6fd1c2f8b27ff88e0eb';
    writeFileSync(file, Buffer.from(bob, 'hex').toString('base64'));
    const { mac, current } = openKeys(file, '');
    const expected = 'de9edb7d7b7dc1b4d35b61c2ece435373f8343c85b78674dadfc7e146f882b4f';
    assert.equal(Buffer.from(current.publicKey, 'base64').toString('hex'), expected);
    // Of one interface, and of nobody's vendor.
    assert.equal(Number.parseInt(mac.slice(0, 2), 16) & 3, 2);
  });
  it('is refused if the file has something else', (t) => {
    const file = join(folder(t), 'key');
    writeFileSync(file, 'hello');
    assert.throws(() => openKeys(file, ''), /delete it/);
  });
  it('is replaced by the next one, which a restart finds at every step, with the same MAC address', (t) => {
    const file = join(folder(t), 'state', 'wireguard.key');
    const first = openKeys(file, 'before the node was there');
    const begun = beginRotation(file, first, 'now');
    assert.deepEqual([begun.current, begun.request, begun.mac], [first.current, 'now', first.mac]);
    assert.ok(begun.next);
    assert.deepEqual(openKeys(file, ''), begun);
    assert.equal(statSync(`${file}.next`).mode & 0o777, 0o600);
    const again = beginRotation(file, begun, 'later');
    assert.deepEqual(again, { ...begun, request: 'later' });
    const announced = noteAnnounced(file, again, 7);
    assert.deepEqual([announced.announcedMs, openKeys(file, '').announcedMs], [7, 7]);
    const ended = endRotation(file, announced);
    const { mac, sinceMs } = first;
    const rest = { next: undefined, mac, request: 'later', sinceMs, announcedMs: undefined };
    assert.deepEqual(ended, { current: begun.next, ...rest });
    assert.deepEqual(openKeys(file, ''), ended);
    assert.deepEqual(readdirSync(dirname(file)).sort(), ['wireguard.key', 'wireguard.key.json']);
    assert.equal(beginRotation(file, ended, '').announcedMs, undefined);
  });
  it('of an earlier release is as old as the first start of one that replaces keys', (t) => {
    const file = join(folder(t), 'key');
    const { current } = openKeys(file, '');
    rmSync(`${file}.json`);
    utimesSync(file, 1, 1);
    const upgraded = openKeys(file, '');
    assert.deepEqual([upgraded.current.publicKey, upgraded.current.madeMs], [current.publicKey, 1000]);
    assert.ok(Date.now() - upgraded.sinceMs < 60_000);
    assert.deepEqual(openKeys(file, ''), upgraded, 'and is not younger after each restart');
    rmSync(`${file}.json`);
    // Nothing can be written there.
    mkdirSync(`${file}.json.new`);
    assert.deepEqual(openKeys(file, '').current, upgraded.current);
  });
});

describe('WireGuard in user space', () => {
  it('receives only what changes', () => {
    const lines = formatChange(change).split('\n');
    assert.deepEqual(lines, [
      'set=1',
      `private_key=${privateHex}`,
      'listen_port=51820',
      `public_key=${publicHex}`,
      'endpoint=192.0.2.1:51820',
      'persistent_keepalive_interval=25',
      'replace_allowed_ips=true',
      'allowed_ip=100.126.0.3/32',
      `public_key=${privateHex}`,
      'remove=true',
      '',
      '',
    ]);
  });
  it('is read with its peers', () => {
    const text = `private_key=${privateHex}\nlisten_port=7\npublic_key=${publicHex}\nendpoint=192.0.2.1:9\nlast_handshake_time_sec=5\nlast_handshake_time_nsec=1\ntx_bytes=10\nrx_bytes=20\npersistent_keepalive_interval=25\nallowed_ip=100.126.0.3/32\nprotocol_version=1\n`;
    const { peers, ...device } = parseDevice(text);
    assert.deepEqual(device, { privateKey, listenPort: 7 });
    assert.deepEqual(peers, [
      {
        publicKey,
        endpoint: '192.0.2.1:9',
        handshakeMs: 5000,
        receivedBytes: 20,
        sentBytes: 10,
        keepaliveSeconds: 25,
        allowedIps: ['100.126.0.3/32'],
      },
    ]);
    assert.deepEqual(parseDevice('listen_port=0\n'), { privateKey: '', listenPort: 0, peers: [] });
  });
  it('that does not run, or refuses, is a problem with a remedy', async (t) => {
    const path = join(folder(t), 'wg.sock');
    await assert.rejects(readUapi(path), /neither the kernel nor a wireguard-go/);
    const server = createServer((socket) => socket.once('data', () => socket.end('errno=-22\n\n')));
    await new Promise<void>((resolve) => server.listen(path, resolve));
    t.after(() => server.close());
    await assert.rejects(changeUapi(path, change), /errno -22/);
  });
});

describe('WireGuard of the kernel', () => {
  it('gets and gives the same settings, by its attributes', () => {
    const stream = new AttrStream();
    stream.emit(wg.formatDevice(deviceOf(change)));
    const device = wg.parseDevice(Buffer.concat(stream.bufs.map((part) => Buffer.from(part))));
    assert.deepEqual([device.privateKey?.toString('hex'), device.listenPort], [privateHex, 51_820]);
    const [set, removed] = device.peers ?? [];
    assert.deepEqual([set?.flags?.replaceAllowedIps, removed?.flags?.removeMe], [true, true]);
    assert.equal(set?.endpoint?.toString('hex'), '0200ca6cc00002010000000000000000');
    const { peers } = seenDevice([device]);
    assert.deepEqual(
      [peers[0]?.endpoint, peers[0]?.allowedIps, peers[0]?.keepaliveSeconds],
      ['192.0.2.1:51820', ['100.126.0.3/32'], 25],
    );
  });
  it('has endpoints of both families', () => {
    for (const text of ['192.0.2.1:51820', '[2001:db8::1]:7']) assert.equal(endpointText(socketAddress(text)), text);
    assert.equal(socketAddress('[2001:db8::1]:7').length, 28);
  });
  it('continues a peer in the next message', () => {
    const key = Buffer.from(publicKey, 'base64');
    const ip = (last: number) => ({ family: 2, ipaddr: Buffer.from([100, 126, 0, last]), cidrMask: 32 });
    const time = Buffer.alloc(16);
    time.writeBigInt64LE(5n, 0);
    const parts = [
      { peers: [{ publicKey: key, lastHandshakeTime: time, rxBytes: 3n, allowedIps: [ip(1)] }] },
      { peers: [{ publicKey: key, allowedIps: [ip(2)] }] },
    ];
    const [peer] = seenDevice(parts).peers;
    assert.deepEqual(
      [peer?.handshakeMs, peer?.receivedBytes, peer?.allowedIps],
      [5000, 3, ['100.126.0.1/32', '100.126.0.2/32']],
    );
  });
});
