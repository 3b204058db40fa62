import assert from 'node:assert/strict';
import { after, before, beforeEach, describe, it } from 'node:test';
import type { Gateway, MemberState, Rejection } from '../model/messages.ts';
import { countRefused } from '../model/refused.ts';
import { attachment, HubBed, prefix, type TestMember } from './hub-bed.ts';

const gateway = (chassis: string, ip: string, rest: Partial<Gateway> = {}): Gateway => ({
  chassis,
  hostname: 'host',
  encaps: [{ type: 'geneve', ip, options: {} }],
  ...rest,
});
const state = (rest: Partial<MemberState>): Omit<MemberState, 'revision'> => ({
  gateways: [gateway('a1', '172.30.0.11')],
  attachments: [attachment(['10.16.0.0/16'])],
  unreachable: [],
  tellsExports: true,
  tellsPaths: true,
  ...rest,
});
const codes = (rejections: readonly Rejection[]) => rejections.map(({ kind, value, code }) => [kind, value, code]);

describe('what one member may do to the hub', () => {
  const bed = new HubBed();
  const logged: object[] = [];
  let [east, west]: TestMember[] = [];
  before(async () => {
    await bed.up({
      log: { info: () => undefined, warn: (fields: object) => logged.push(fields) },
    });
    [east, west] = [await bed.member('east'), await bed.member('west')];
  });
  beforeEach(async () => {
    await east?.sendState(state({}));
    await west?.sendAttachments([], 'b1', '172.30.0.21');
    logged.length = 0;
  });
  after(() => bed.down());

  it('refuses each value that the databases cannot read, and accepts the rest', async () => {
    const options = { 'k\0': 'v' };
    const request = state({
      gateways: [
        gateway('a1', '172.30.0.11', { hostname: `n\0${'x'.repeat(300)}` }),
        gateway('a2\0', '172.30.0.12'),
        gateway('a3', '172.30.0.13', { encaps: [{ type: 'geneve', ip: '172.30.0.13', options }] }),
      ],
      attachments: [
        attachment([
          '10.16.0.0/16',
          prefix('10.20.0.0/16', { tags: ['a\0b'] }),
          prefix('10.21.0.0/16', { only: ['\u0085'] }),
          prefix('10.22.0.0/16', { tags: ['x'.repeat(256)] }),
        ]),
        attachment([], { transitSwitch: 'red', vpc: 'v\0' }),
        attachment([], { transitSwitch: 'blue', routerId: '\u0007' }),
      ],
    });
    assert.deepEqual(codes((await east?.sendState(request)) ?? []), [
      ['transit-switch', 'red', 'AttachmentInvalid'],
      ['transit-switch', 'blue', 'AttachmentInvalid'],
      ['gateway', 'a2\u{fffd}', 'GatewayInvalid'],
      ['gateway', 'a3', 'GatewayInvalid'],
      ['prefix', '10.20.0.0/16', 'PrefixInvalid'],
      ['prefix', '10.21.0.0/16', 'PrefixInvalid'],
      ['prefix', '10.22.0.0/16', 'PrefixInvalid'],
    ]);
    assert.deepEqual(bed.column('Gateway', 'name'), ['a1', 'b1']);
    const hostname = bed.rows('Gateway').find((row) => row['name'] === 'a1')?.['hostname'];
    assert.equal(hostname, `n\u{fffd}${'x'.repeat(253)}`);
    assert.deepEqual([...new Set(bed.column('Route', 'ip_prefix'))], ['10.16.0.0/16']);
    assert.deepEqual(await west?.sendAttachments([attachment(['10.17.0.0/16'])], 'b1', '172.30.0.21'), []);
  });

  it('restores no port whose networks contain more than addresses', async () => {
    const held = bed.rows('Port_Binding').map((row) => {
      const [mac = '', network = ''] = String(row['address']).split(' ');
      const [tunnelKey, path] = [Number(row['tunnel_key']) + 100, String(row['transit_switch'])];
      return { switch: path, mac, networks: [`${network}/\0`], tunnelKey };
    });
    assert.equal(held.length, 2);
    assert.deepEqual(await west?.sendAttachments([attachment([], { held })], 'b1', '172.30.0.21'), []);
    assert.ok(bed.column('Port_Binding', 'address').every((address) => /^[0-9a-f:]+ [0-9./]+$/.test(address)));
  });

  it('accepts a bounded number of gateways and ends', async () => {
    const many = Array.from({ length: 66 }, (_, index) => gateway(`c${100 + index}`, `172.30.1.${index + 1}`));
    const encaps = Array.from({ length: 9 }, (_, index) => ({ type: 'geneve', ip: `172.30.2.${index}`, options: {} }));
    const ends = Array.from({ length: 65 }, (_, index) => ({ index, gateways: [], holder: '', draining: false }));
    const request = state({
      gateways: [gateway('a1', '', { encaps }), ...many],
      attachments: [attachment(['10.16.0.0/16']), attachment([], { transitSwitch: 'red', ends })],
    });
    assert.deepEqual(codes((await east?.sendState(request)) ?? []), [
      ['transit-switch', 'red', 'AttachmentInvalid'],
      ['gateway', 'a1', 'GatewayInvalid'],
      ['gateway', 'c164', 'TooManyGateways'],
      ['gateway', 'c165', 'TooManyGateways'],
    ]);
    assert.equal(bed.rows('Gateway').length, 64 + 1);
  });

  it('lists the first hundred refusals and counts the rest, and still grants a prefix once its holder releases it', async () => {
    const invalid = Array.from({ length: 150_000 }, (_, index) => `x${index}`);
    const rejections = await west?.sendAttachments(
      [attachment(invalid.toSpliced(200, 0, '10.16.1.0/24'))],
      'b1',
      '172.30.0.21',
    );
    assert.ok(rejections);
    assert.equal(rejections.length, 103);
    assert.equal(countRefused(rejections), 150_001);
    assert.equal(bed.hub.rejections, 150_001);
    assert.deepEqual(codes(rejections.slice(99)), [
      ['prefix', 'x99', 'PrefixInvalid'],
      ['prefix', '10.16.1.0/24', 'PrefixOverlap'],
      ['prefix', 'x19999', 'MaxPrefixes'],
      ['prefix', '149899', 'MoreRefused'],
    ]);
    assert.ok(JSON.stringify(logged).length < 5000);
    await east?.sendState(state({ attachments: [attachment([])] }));
    await bed.until(() => bed.column('Route', 'ip_prefix').includes('10.16.1.0/24'));
    await west?.until(() => countRefused(west?.last?.rejections ?? []) === 150_000);
  });
});
